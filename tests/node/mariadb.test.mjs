// MariaDB from inside Node, over TLS too: Node has an OpenSSL of its own, which must not be used.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import test from "node:test";
import { execFileSync } from "node:child_process";
import { assistant, child, newHome, scratch, user } from "./lib.mjs";
import * as grove from "../../bindings/node/index.mjs";

const url = process.env.GROVE_TEST_MYSQL;
const server = process.env.GROVE_TEST_MYSQL_DIR;

function sql(...statements) {
	execFileSync("mariadb", ["--no-defaults", "-u", "root", "-S", path.join(server, "socket"), "-e", statements.join(";")]);
}

/** Starts the server again, with other options. */
function restart(...options) {
	const pid = Number(fs.readFileSync(path.join(server, "pid"), "utf8"));
	process.kill(pid, "SIGKILL");
	for (let up = true; up; ) {
		try {
			process.kill(pid, 0);
			execFileSync("sleep", ["0.05"]);
		} catch {
			up = false;
		}
	}
	execFileSync(path.join(server, "start"), options);
}

function certificate(name) {
	const file = path.join(server, name);
	execFileSync("openssl", [
		"req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1",
		"-keyout", `${file}.key`, "-out", `${file}.pem`,
	], { stdio: "ignore" });
	for (const end of ["key", "pem"]) fs.chmodSync(`${file}.${end}`, 0o644);
	return file;
}

test("a conversation is kept in a database and taken up again", async () => {
	newHome();
	grove.initStore(url);
	const s = grove.create({ store: url, cwd: "/tmp" });
	const first = s.append(user("remember this needle"));
	s.append(assistant("I shall"));
	s.setLeaf(first.id);
	s.append(assistant("or not"), { sync: "always" });
	assert.equal(s.path, null);
	s.close();
	const again = grove.session(s.id, { store: url });
	assert.equal(again.branch().length, 2);
	assert.equal(again.length, 3);
	assert.equal(again.context().messages[1].content[0].text, "or not");
	again.close();
	assert.equal((await grove.list({ store: url }))[0].id, s.id);
	assert.equal((await grove.search("needle", { store: url }))[0].sessionId, s.id);
});

test("a wrong password is refused, and not told", () => {
	const wrong = url.replace("s3cret", "gu3ss");
	assert.throws(() => grove.session("x", { store: wrong }), (e) => e.code === "ACCESS" && !e.message.includes("gu3ss"));
});

test("TLS is spoken, and the server known", async () => {
	newHome();
	const own = certificate("server");
	const other = certificate("other");
	restart(`--ssl-cert=${own}.pem`, `--ssl-key=${own}.key`);
	sql("ALTER USER grove@'127.0.0.1' REQUIRE SSL");
	assert.throws(() => grove.session("x", { store: `${url}?tls=off` }), { code: "ACCESS" });
	for (const options of ["tls=on", `tls=verify&ca=${own}.pem`]) {
		const store = `${url}?${options}`;
		const s = grove.create({ store, cwd: "/tmp" });
		s.append(user("over TLS"));
		s.close();
		assert.equal(grove.session(s.id, { store }).context().messages.length, 1);
		assert.ok((await grove.list({ store })).length > 0);
	}
	assert.throws(() => grove.session("x", { store: `${url}?tls=verify&ca=${other}.pem` }), { code: "ACCESS" });
});

test("libraries use the OpenSSL that they were built for, not node's own", async () => {
	const out = path.join(scratch(), "bindings");
	const { status, stderr } = await child("await import(process.env.GROVE_TEST_PACKAGE)", { env: { LD_DEBUG: "bindings", LD_DEBUG_OUTPUT: out } });
	assert.equal(status, 0, stderr);
	const [file] = fs.readdirSync(path.dirname(out));
	const bindings = fs.readFileSync(path.join(path.dirname(out), file), "utf8").split("\n").filter((line) => / symbol `(EVP|SSL)_/.test(line));
	assert.ok(bindings.length > 100);
	const ours = bindings.filter((line) => /binding file \S*(grove\.node|libmariadb|libssl|libcrypto)\S* /.test(line));
	assert.ok(ours.length > 100);
	assert.deepEqual(ours.filter((line) => !/ to \S*(libssl|libcrypto)\.so/.test(line)), []);
});
