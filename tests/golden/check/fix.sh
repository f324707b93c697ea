# Checks and repairs $f, and shows what became of it. Repairing again changes nothing.
cp "$f" before
grove check "$f" || echo "exit $?"
grove check --fix --dry-run "$f" >dry 2>&1 || echo "dry run: exit $?"
cmp "$f" before
grove check --fix --yes "$f" || echo "exit $?"
echo "-- mended:"
tr '\000' '0' <"$f"
for c in "$f".cut-*; do
	[ ! -e "$c" ] || { echo "-- cut:"; stat -c %a "$c"; tr '\000' '0' <"$c"; }
done
cp "$f" mended
echo "-- once more:"
grove check --fix --yes "$f" || echo "exit $?"
cmp "$f" mended
