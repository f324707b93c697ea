# shellcheck shell=bash disable=SC2034
# Shared by scripts/try and scripts/test: where we are, what must be installed,
# how a build directory is set up. Sourced, not run.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# Debian packages. The first list builds the library and the program.
build_packages=(gcc libc6-dev meson ninja-build pkg-config python3
	libssl-dev libutf8proc-dev libsqlite3-dev libmariadb-dev libpcre2-dev libmd4c-dev
	libmicrohttpd-dev libgnutls28-dev zlib1g-dev libcurl4-gnutls-dev libncurses-dev scdoc)
test_packages=(g++ clang binutils libcmocka-dev libsimdjson-dev nodejs npm libnode-dev tzdata
	mariadb-server galera-4 rsync iproute2 openssl curl jq wrk tmux less zsh fish abigail-tools xz-utils)

viewer_packages=(nodejs npm)
browser_packages=(chromium)

# What some of them are wanted for: a command or a file. Whoever has it from
# elsewhere (upstream's Node brings npm and headers along) keeps that.
declare -A wanted_for=([nodejs]=node [npm]=npm [libnode-dev]=/usr/include/node/node_api.h
	[chromium]=chromium)

say() {
	printf '%s\n' "$*"
}

die() {
	printf '%s\n' "$*" >&2
	exit 1
}

as_root() {
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo "$@"
	else
		die "This needs root: $*"
	fi
}

# without_services COMMAND...: install, but let no server start by itself, now or
# after a reboot: tests start their own, on ports of their own.
without_services() {
	local status=0 policy=/usr/sbin/policy-rc.d ours=
	if [ ! -e "$policy" ]; then
		ours=1
		printf '#!/bin/sh\nexit 101\n' | as_root tee "$policy" >/dev/null
		as_root chmod 755 "$policy"
	fi
	"$@" || status=$?
	[ -z "$ours" ] || as_root rm -f "$policy"
	if [ -d /run/systemd/system ] && command -v systemctl >/dev/null; then
		as_root systemctl disable --now mariadb.service >/dev/null 2>&1 || :
	fi
	return "$status"
}

# have COMMAND|FILE
have() {
	[ -n "$1" ] && { [ -e "$1" ] || command -v "$1" >/dev/null; }
}

# install_packages NAME...: those that are missing, and nothing if none is.
install_packages() {
	local missing=() name log around=()
	if ! command -v dpkg >/dev/null || ! command -v apt-get >/dev/null; then
		say "Not a Debian system; please see that you have: $*"
		return
	fi
	for name; do
		! have "${wanted_for[$name]-}" || continue
		case $(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null || :) in
		installed) ;;
		*)
			missing+=("$name")
			# one that was there before is its owner's affair
			[ "$name" != mariadb-server ] || around=(without_services)
			;;
		esac
	done
	[ ${#missing[@]} -gt 0 ] || return 0

	say "Installing ${missing[*]}"
	log=$(mktemp)
	export DEBIAN_FRONTEND=noninteractive
	# An update that fails is no reason to stop: the lists may be good enough.
	as_root apt-get -q -o DPkg::Lock::Timeout=300 update >"$log" 2>&1 ||
		say "apt-get update failed; going on with the lists that are there"
	if ! "${around[@]}" as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 \
		install --no-install-recommends "${missing[@]}" >>"$log" 2>&1; then
		tail -n 30 "$log" >&2
		rm -f "$log"
		die "Could not install: ${missing[*]}"
	fi
	rm -f "$log"
}

# project_version: it stands in meson.build; tests/docs/version compares the others with it.
project_version() {
	sed -n "s/^[[:space:]]*version: '\([^']*\)',\$/\1/p" "$root/meson.build" | head -n 1
}

# quietly COMMAND...: say what it said only if it fails.
quietly() {
	local log status=0
	log=$(mktemp)
	"$@" >"$log" 2>&1 || status=$?
	[ "$status" -eq 0 ] || cat "$log"
	rm -f "$log"
	return "$status"
}

# set_up DIR OPTION...: a build directory with these options. One that has them
# already is left alone, one that was made for another place is made anew.
set_up() {
	local dir=$1 stamp mode=()
	shift
	stamp="$root ${CC-} $*"
	if [ -f "$dir/build.ninja" ]; then
		[ "$(cat "$dir/.set-up" 2>/dev/null)" != "$stamp" ] || return 0
		case $(cat "$dir/.set-up" 2>/dev/null) in
		"$root "*) mode=(--reconfigure) ;;
		*) mode=(--wipe) ;;
		esac
	fi
	quietly meson setup "${mode[@]}" "$dir" "$root" "$@" || return
	printf '%s\n' "$stamp" >"$dir/.set-up"
}

# viewer_came_along: a release has it built in.
viewer_came_along() {
	[ ! -e "$root/.git" ] && [ ! -e "$root/web/node_modules" ] && [ -f "$root/web/dist/index.html" ]
}

# build_viewer: web/dist, which the server's build takes in. Without npm or its
# registry the rest is built all the same, and / says that the viewer is missing.
build_viewer() (
	! viewer_came_along || return 0
	if ! have npm; then
		say "There is no npm here: grove serve is built without the viewer"
		return 0
	fi
	cd "$root/web" || return
	if ! cmp -s package-lock.json node_modules/.lock-of-grove; then
		if ! npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >/dev/null 2>&1; then
			say "npm cannot fetch the viewer's packages: grove serve is built without the viewer"
			return 0
		fi
		cp package-lock.json node_modules/.lock-of-grove
	fi
	quietly node build.mjs --quiet
)
