/*
 * tests/unit/test_redact.c: what is removed from an export, and what is not.
 *
 * The secret keys are put together at run time, so that this file contains nothing
 * that looks like one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "kit/export/redact.h"
#include "kit/export/rules.h"

#define A20 "a1b2c3d4e5f6g7h8i9j0"
#define A40 A20 A20
#define M20 "aB1c2D3e4F5g6H7i8J9k"
#define M40 M20 M20
#define U16 "ABCDEFGH12345678"
#define X40 "0123456789abcdef0123456789abcdef01234567"

static void check(const char *in, const char *out)
{
	struct grove_buf got = GROVE_BUF_INIT;
	struct redactor r;

	redactor_init(&r, "/srv/people/ann");
	assert_int_equal(redact_text(&r, grove_str(in), &got), 0);
	assert_string_equal(got.ptr ? got.ptr : "", out);
	grove_buf_release(&got);
}

static void check_json(const char *in, const char *out)
{
	struct grove_buf got = GROVE_BUF_INIT;
	struct redactor r;

	redactor_init(&r, "/srv/people/ann");
	assert_int_equal(redact_json(&r, grove_str(in), &got), 0);
	assert_string_equal(got.ptr ? got.ptr : "", out);
	grove_buf_release(&got);
}

static void every_shape_is_replaced(void **state)
{
	static const struct {
		const char *in, *name;
	} keys[] = {
		{ "sk-" "ant-api03-" A40, "anthropic-key" }, { "sk-" A40, "openai-key" }, { "sk-" "proj-" A40, "openai-key" },
		{ "gh" "p_" A40, "github-token" }, { "gh" "o_" A40, "github-token" }, { "gh" "u_" A40, "github-token" },
		{ "gh" "s_" A40, "github-token" }, { "gh" "r_" A40, "github-token" }, { "github" "_pat_" A20 "_" A40, "github-token" },
		{ "gl" "pat-" A20, "gitlab-token" }, { "gl" "rt-" A20, "gitlab-token" }, { "AK" "IA" U16, "aws-key" },
		{ "AS" "IA" U16, "aws-key" }, { "AI" "za" A40, "google-key" }, { "ya" "29." A40, "google-key" },
		{ "GOC" "SPX-" A40, "google-key" }, { "xo" "xb-123-456-" A20, "slack-token" }, { "xo" "xp-1-" A20, "slack-token" },
		{ "xo" "xa-1-" A20, "slack-token" }, { "xo" "xs-1-" A20, "slack-token" }, { "xa" "pp-1-" A20, "slack-token" },
		{ "https://hooks.slack" ".com/services/T0/B0/" A20, "slack-token" }, { "sk_" "live_" A40, "stripe-key" },
		{ "sk_" "test_" A40, "stripe-key" }, { "rk_" "live_" A40, "stripe-key" }, { "rk_" "test_" A40, "stripe-key" },
		{ "wh" "sec_" A40, "stripe-key" }, { "np" "m_" A40, "npm-token" }, { "py" "pi-" A40 A40, "pypi-token" },
		{ "h" "f_" A40, "huggingface-token" }, { "S" "G." A20 "." A40, "sendgrid-key" }, { "dop" "_v1_" X40, "digitalocean-token" },
		{ "doo" "_v1_" X40, "digitalocean-token" }, { "sh" "pat_" X40, "shopify-token" }, { "gs" "k_" A40, "groq-key" },
		{ "xa" "i-" A40, "xai-key" }, { "r" "8_" A40, "replicate-token" }, { "pp" "lx-" A40, "perplexity-key" },
		{ "lin" "_api_" A40, "linear-key" }, { "da" "pi" X40, "databricks-token" },
		{ "AGE-" "SECRET-KEY-1" U16 U16 U16 U16, "age-key" }, { "hv" "s." A40, "vault-token" },
		{ "dckr" "_pat_" A40, "docker-token" }, { "fig" "d_" A40, "figma-token" },
		{ "ey" "JhbGciOiJIUzI1NiJ9.ey" "JzdWIiOiIxIn0." A40, "jwt" },
		{ "-----BEGIN RSA PRIVATE" " KEY-----\nMIIE\nabc\n-----END RSA PRIVATE" " KEY-----", "private-key" },
		{ "-----BEGIN PRIVATE" " KEY-----\\nMIIE\\n-----END PRIVATE" " KEY-----", "private-key" },
		{ "ann.lee+test@mail.example.org", "e-mail-address" },
		{ "gl" "ptt-" A20, "gitlab-token" }, { "gl" "dt-" A20, "gitlab-token" }, { "1/" "/0" A40, "google-key" },
		{ "xo" "xc-1-" A20, "slack-token" }, { "xo" "xe-1-" A20, "slack-token" }, { "xo" "xe.xo" "xp-1-" A20, "slack-token" },
		{ "sh" "pss_" X40, "shopify-token" },
		{ "AT" "ATT3" A40, "key-of-another-service" }, { "NR" "AK-" U16 U16, "key-of-another-service" },
		{ "PM" "AK-" A40 "-" A40, "key-of-another-service" }, { "S" "K" "0123456789abcdef0123456789abcdef", "key-of-another-service" },
		{ "cs" "k-" A40, "key-of-another-service" }, { "dp" ".pt." A40, "key-of-another-service" },
		{ "gl" "sa_" A40, "key-of-another-service" }, { "ke" "y-0123456789abcdef0123456789abcdef", "key-of-another-service" },
		{ "ls" "v2_pt_" A40, "key-of-another-service" }, { "nt" "n_" A40, "key-of-another-service" },
		{ "nv" "api-" A40, "key-of-another-service" }, { "op" "s_ey" "J" A40, "key-of-another-service" },
		{ "ruby" "gems_" X40, "key-of-another-service" }, { "sb" "_secret_" A40, "key-of-another-service" },
		{ "sb" "p_" X40, "key-of-another-service" }, { "snt" "rys_" A40, "key-of-another-service" },
		{ "snt" "ryu_" X40, "key-of-another-service" }, { "ts" "key-auth-" A40, "key-of-another-service" },
		{ "tv" "ly-dev-" A40, "key-of-another-service" }, { "123456789:" "AA" A20 "abcdefghijklm", "key-of-another-service" },
		{ "gl" "cbt-64_" A20, "gitlab-token" }, { "gl" "ft-" A20, "gitlab-token" }, { "gl" "oas-" A40, "gitlab-token" },
		{ "gl" "agent-" A40, "gitlab-token" }, { "gl" "soat-" A20, "gitlab-token" }, { "GR" "1348941" A20, "gitlab-token" },
		{ "AB" "SK" M40 M40 M40, "aws-key" }, { "xo" "xd-" A40, "slack-token" }, { "dor" "_v1_" X40, "digitalocean-token" },
		{ "sh" "pca_" X40, "shopify-token" }, { "sh" "ppa_" X40, "shopify-token" }, { "hv" "b." A40, "vault-token" },
		{ "BS" "A" M20 "abcdefgh", "key-of-another-service" }, { "CCI" "PAT_" A20 "_" X40, "key-of-another-service" },
		{ "CF" "PAT-" A40, "key-of-another-service" }, { "EA" "AA" M40 M20, "key-of-another-service" },
		{ "HR" "KU-AA" A40, "key-of-another-service" }, { "a" "k-" M20 "ab", "key-of-another-service" },
		{ "a" "s-" M20 "ab", "key-of-another-service" }, { "bk" "ua_" X40, "key-of-another-service" },
		{ "cr" "sr_" X40 X40, "key-of-another-service" }, { "e2" "b_" X40, "key-of-another-service" },
		{ "f" "c-" "0123456789abcdef0123456789abcdef", "key-of-another-service" }, { "f" "m2_" A40 "/" A20, "key-of-another-service" },
		{ "f" "o1_" A40, "key-of-another-service" }, { "f" "w_" M20 "abcd", "key-of-another-service" },
		{ "https://discord" ".com/api/webhooks/123456789012345678/" A40 A20, "key-of-another-service" },
		{ "ji" "na_" A40 A20, "key-of-another-service" }, { "na" "pi_" A40 A20, "key-of-another-service" },
		{ "nf" "p_" A40, "key-of-another-service" }, { "pat" "-na1-12345678-1234-1234-1234-123456789abc", "key-of-another-service" },
		{ "pc" "sk_" A40 "_" A20, "key-of-another-service" }, { "ph" "x_" A40, "key-of-another-service" },
		{ "psc" "ale_tkn_" M40, "key-of-another-service" }, { "pu" "l-" X40, "key-of-another-service" },
		{ "r" "e_aB1c2D3e_" M20 "abcd", "key-of-another-service" }, { "sec" "ret_" M40 "abc", "key-of-another-service" },
		{ "sg" "p_" X40, "key-of-another-service" }, { "s" "k.ey" "J" A40 A20 "." A20, "key-of-another-service" },
		{ "sk" "_" X40, "key-of-another-service" }, { "s" "l." M40 M40 M40, "key-of-another-service" },
		{ "sq0" "atp-" A20, "key-of-another-service" }, { "sq0" "csp-" A40, "key-of-another-service" },
		{ "tg" "p_v1_" A40, "key-of-another-service" },
		{ "M" "TA" M20 "abc.G" "aB1cd." M20 "abcdefghijklmnopqr", "key-of-another-service" },
		{ "p" "ataB1c2D3e4F5g6H." X40 "0123456789abcdef01234567", "key-of-another-service" },
		{ "aB1c2D3e4F5g6H." "atlasv1." M40 M20, "key-of-another-service" },
		{ "0123456789abcdef0123456789abcdef" "-us12", "key-of-another-service" },
		{ "gl" "ffct-" A20, "gitlab-token" }, { "gl" "imt-" A20, "gitlab-token" }, { "gl" "wt-" A20, "gitlab-token" },
		{ "A" "Q." M40, "google-key" }, { "https://hooks.slack" ".com/workflows/T0/A0/" A20, "slack-token" },
		{ "https://hooks.slack" ".com/triggers/E0/1/" A20, "slack-token" }, { "AK" "ID" M20 "abcdefghij", "key-of-another-service" },
		{ "AT" "BB" M20 "abcdefghij", "key-of-another-service" }, { "AT" "CTT3" A40, "key-of-another-service" },
		{ "CLO" "JARS_" X40 X40, "key-of-another-service" }, { "EZ" "AK" M40 M20, "key-of-another-service" },
		{ "LT" "AI" M20, "key-of-another-service" }, { "dp" ".st.dev." A40, "key-of-another-service" },
		{ "dp" ".ct." A40, "key-of-another-service" }, { "dp" ".sa." A40, "key-of-another-service" },
		{ "gl" "c_ey" "J" A40, "key-of-another-service" }, { "rn" "d_" M20 "abcdefgh", "key-of-another-service" },
		{ "se" "ss-" M40, "key-of-another-service" }, { "shi" "ppo_live_" X40, "key-of-another-service" },
		{ "v1" ".0-0123456789abcdef01234567-" X40 X40 X40 X40, "key-of-another-service" }, { "vc" "p_" M40, "key-of-another-service" },
		{ "wan" "db_v1_" A40, "key-of-another-service" }, { "xke" "ysib-" X40 X40 "-" A20, "key-of-another-service" },
		{ "abc8" "Q~" A20 "abcdefghijklm", "key-of-another-service" },
		/* letters alone are as likely as any others */
		{ "AK" "IA" "ABCDEFGHIJKLMNOP", "aws-key" }, { "gl" "pat-" "abcdefghijKLMNOPQRST", "gitlab-token" },
		{ "j\xc3\xb6rg@m\xc3\xbcller.example", "e-mail-address" }, { "ann%40example.org", "e-mail-address" },
	};
	char in[600], out[200];
	const char *escape;

	(void)state;
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		snprintf(out, sizeof(out), "[redacted:%s]", keys[i].name);
		check(keys[i].in, out);
		/* among other things; in JSON, after an escape, and in JSON that is a string of JSON */
		snprintf(in, sizeof(in), "x (%s) y", keys[i].in);
		snprintf(out, sizeof(out), "x ([redacted:%s]) y", keys[i].name);
		check(in, out);
		snprintf(in, sizeof(in), "{\"text\":\"a\\n%s\\nb\"}", keys[i].in);
		snprintf(out, sizeof(out), "{\"text\":\"a\\n[redacted:%s]\\nb\"}", keys[i].name);
		check(in, out);
		snprintf(in, sizeof(in), "\"\\\\n%s\\\"\"", keys[i].in);
		snprintf(out, sizeof(out), "\"\\\\n[redacted:%s]\\\"\"", keys[i].name);
		check(in, out);
		/* a letter before an address is part of it */
		escape = strcmp(keys[i].name, "e-mail-address") ? "\\u00e9" : "\\u001b";
		snprintf(in, sizeof(in), "\"%s%s\"", escape, keys[i].in);
		snprintf(out, sizeof(out), "\"%s[redacted:%s]\"", escape, keys[i].name);
		check(in, out);
	}
}

static void a_part_is_replaced(void **state)
{
	(void)state;
	/* a key without its end: all that could be part of it */
	check("a\n-----BEGIN OPENSSH PRIVATE" " KEY-----\nb3BlbnNzaC1rZXk=\n...", "a\n[redacted:private-key]...");
	check("\"-----BEGIN PRIVATE" " KEY-----\\nb3Blb\"", "\"[redacted:private-key]\"");
	check("Authorization: Bearer " A40 "==", "Authorization: Bearer [redacted:bearer-token]");
	check("postgres://ann:s3cret!@db.example/x", "postgres://ann:[redacted:password-in-url]@db.example/x");
	check("export DB_PASSWORD='correct horse'", "export DB_PASSWORD='correct horse'");
	check("export DB_PASSWORD=correcthorse", "export DB_PASSWORD=[redacted:secret-in-variable]");
	check("{\"t\":\"MY_API_KEY=\\\"abcdefgh1\\\"\\n\"}", "{\"t\":\"MY_API_KEY=\\\"[redacted:secret-in-variable]\\\"\\n\"}");
	/* lines of a key that are strings of a program, and a key that ends in another text */
	check("{\"t\":\"k = \\\"-----BEGIN PRIVATE" " KEY-----\\\\n\\\" +\\n\\\"MIIE\\\\n\\\" +\\n\\\"-----END PRIVATE" " KEY-----\\\";\"}",
	      "{\"t\":\"k = \\\"[redacted:private-key]\\\";\"}");
	check("[{\"t\":\"-----BEGIN PRIVATE" " KEY-----\\nMIIE\"},{\"t\":\"-----END PRIVATE" " KEY-----\"}]",
	      "[{\"t\":\"[redacted:private-key]\"},{\"t\":\"-----END PRIVATE" " KEY-----\"}]");
	check("Authorization: Basic YW5uOnMzY3JldA==", "Authorization: Basic [redacted:bearer-token]");
	check("redis://:s3cret!@db.example/0", "redis://:[redacted:password-in-url]@db.example/0");
	check("aws_secret_access_key = " A40 "\n", "aws_secret_access_key = [redacted:secret-in-variable]\n");
	check("{\"apiKey\": \"" A20 "\"}", "{\"apiKey\": \"[redacted:secret-in-variable]\"}");
	check("\"{\\\"client_secret\\\":\\\"" A20 "\\\"}\"", "\"{\\\"client_secret\\\":\\\"[redacted:secret-in-variable]\\\"}\"");
	check("X-Api-Key: " A20, "X-Api-Key: [redacted:secret-in-variable]");
	check("password: hunter2", "password: [redacted:secret-in-variable]");
	check("Authorization: token " A40, "Authorization: token [redacted:bearer-token]");
	check("\"authorization\":\"ApiKey " A40 "\"", "\"authorization\":\"ApiKey [redacted:bearer-token]\"");
	check("https://api.telegram.org/bot123456789:" "AA" A20 "abcdefghijklm/getMe", "https://api.telegram.org/bot[redacted:key-of-another-service]/getMe");
	check("docker login --password s3cret99", "docker login --password [redacted:secret-in-variable]");
	check("[\"--api-key\", \"" A20 "\"]", "[\"--api-key\", \"[redacted:secret-in-variable]\"]");
	check("\"[\\\"--token\\\",\\\"" A20 "\\\"]\"", "\"[\\\"--token\\\",\\\"[redacted:secret-in-variable]\\\"]\"");
	check("DB_PASS=s3cret99 dbPass: 's3cret99'", "DB_PASS=[redacted:secret-in-variable] dbPass: '[redacted:secret-in-variable]'");
	check("PASSPHRASE=correcthorse", "PASSPHRASE=[redacted:secret-in-variable]");
	check("Uid=sa;Pwd=s3cret99;", "Uid=sa;Pwd=[redacted:secret-in-variable];");
	check("encryption_key: " A20, "encryption_key: [redacted:secret-in-variable]");
	check("<password>s3cret99</password>", "<password>[redacted:secret-in-variable]</password>");
	check("'token' => '" A20 "'", "'token' => '[redacted:secret-in-variable]'");
	check("os.environ[\"API_KEY\"] = \"" A20 "\"", "os.environ[\"API_KEY\"] = \"[redacted:secret-in-variable]\"");
	check("API_KEY:=" A20, "API_KEY:=[redacted:secret-in-variable]");
	check("https://x/?sv=1&sig=" A40 "%3D&se=2", "https://x/?sv=1&sig=[redacted:secret-in-variable]&se=2");
	check("AccountKey=" A40 "==;Endpoint", "AccountKey=[redacted:secret-in-variable];Endpoint");
	check("curl -u ann:s3cret99 https://x", "curl -u ann:[redacted:secret-in-variable] https://x");
	check("\"curl --user \\\"ann:s3cret99\\\" x\"", "\"curl --user \\\"ann:[redacted:secret-in-variable]\\\" x\"");
	check("scp x ann@web1.example.com:/srv ssh://ann@web1.example.com/x", "scp x [redacted:e-mail-address]:/srv ssh://[redacted:e-mail-address]/x");
	check("machine x login ann password s3cret99", "machine x login ann password [redacted:secret-in-variable]");
	check("\"login ann\\n  password s3cret99\\n\"", "\"login ann\\n  password [redacted:secret-in-variable]\\n\"");
	check("\"Cookie: sid=" A20 "; lang=en\\nHost: x\"", "\"Cookie: [redacted:bearer-token]\\nHost: x\"");
	check("set-cookie: sid=" A20 "; Path=/", "set-cookie: [redacted:bearer-token]");
	check("AWS_SECRET_ACCESS_KEY=" A40 "\nX=1", "AWS_SECRET_ACCESS_KEY=[redacted:secret-in-variable]\nX=1");
	check("AUTHORIZATION: BEARER " A40, "AUTHORIZATION: BEARER [redacted:bearer-token]");
	check("postgres://ann:p@ss@db.example/x", "postgres://ann:[redacted:password-in-url]@db.example/x");
	check("_gh" "p_" A40 "_ and __gh" "p_" A40 "__", "_[redacted:github-token]_ and __[redacted:github-token]__");
	/* line ends as they are, outside JSON */
	check("curl\n-u ann:s3cret99 https://x", "curl\n-u ann:[redacted:secret-in-variable] https://x");
	check("login ann\n  password s3cret99\n", "login ann\n  password [redacted:secret-in-variable]\n");
	/* letters that are escapes belong to an address, other escapes do not */
	check("\"j\\u00f6rg@m\\u00fcller.example\"", "\"[redacted:e-mail-address]\"");
	check("\"a\\tann@example.org\\n\"", "\"a\\t[redacted:e-mail-address]\\n\"");
}

static void json_remains_json(void **state)
{
	(void)state;
	check_json("{\"a\":\"" "-----BEGIN PRIVATE" " KEY-----\",\"b\":\"-----END PRIVATE" " KEY-----\"}",
		   "{\"a\":\"[redacted:private-key]\",\"b\":\"-----END PRIVATE" " KEY-----\"}");
	check_json("{\"" "-----BEGIN PRIVATE" " KEY-----\":1,\"-----END PRIVATE" " KEY-----\":2}",
		   "{\"[redacted:private-key]\":1,\"-----END PRIVATE" " KEY-----\":2}");
	/* a line end, and a word that is no key */
	check_json("\"a\\npm_" A40 "\"", "\"a\\npm_" A40 "\"");
	check_json("\"\\/home/bob/x\"", "\"~/x\"");
	check_json("{\"X_KEY=\":1234567890123}", "{\"X_KEY=\":1234567890123}");
	check_json("[\"--token\", 1234567890123456e10]", "[\"--token\", 1234567890123456e10]");
	check_json("{\"-u \":\"abc\",\"ann:s3cret99\":1}", "{\"-u \":\"abc\",\"ann:s3cret99\":1}");
	check_json("[\"--token\", \"" A20 "\", \"\\\\\", \"PASSWORD=\\\"" A20 "\\\"\"]",
		   "[\"--token\", \"[redacted:secret-in-variable]\", \"\\\\\", \"PASSWORD=\\\"[redacted:secret-in-variable]\\\"\"]");
}

static void homes_become_a_tilde(void **state)
{
	(void)state;
	check("/home/bob/src/x.c", "~/src/x.c");
	check("cd /Users/bob && ls", "cd ~ && ls");
	check("file:///home/bob/x", "file://~/x");
	check("\"cwd\":\"/srv/people/ann/app\"", "\"cwd\":\"~/app\"");
	check("/srv/people/ann", "~");
	check("/srv/people/anna/x", "/srv/people/anna/x");
	check("C:\\Users\\bob\\x", "~\\x");
	check("\"C:\\\\Users\\\\bob\\\\x\"", "\"~\\\\x\"");
	check("a\\n/home/bob/x", "a\\n~/x");
	check("projects/-home-ann-app/x.jsonl", "projects/-~-app/x.jsonl");
	check("projects/-home-anna-app/x.jsonl", "projects/-~-app/x.jsonl");
	check("of -home-anna-app", "of -home-anna-app");
	check("src/home/index.ts and ./home/x and lib/Users/x", "src/home/index.ts and ./home/x and lib/Users/x");
	check("/home/ and /home", "/home/ and /home");
	check("projects/-home-bob-app/x and sessions/--Users-bob-app--/y", "projects/-~-app/x and sessions/--~-app--/y");
	check("--home-dir and stay-at-home-bob", "--home-dir and stay-at-home-bob");
	check("/var/home/bob/x /export/home/bob /mnt/c/Users/bob/x /c/Users/bob/x", "~/x ~ ~/x ~/x");
	check("/home/j\xc3\xb6rg/x and \"/home/j\\u00f6rg/x\"", "~/x and \"~/x\"");
	check("\"\\/home\\/bob\\/x\" and \"\\/srv\\/people\\/ann\\/x\"", "\"~\\/x\" and \"~\\/x\"");
	check("\"C:\\\\Users\\\\Bob Lee\\\\x\" C:\\Users\\Bob Lee\\x", "\"~\\\\x\" ~\\x");
	check("\"C:\\\\Users\\\\bob and\\nmore\"", "\"~ and\\nmore\"");
	check("gcc -I/home/bob/include -L/home/bob/lib", "gcc -I~/include -L~/lib");
	check("/mnt/backup/srv/people/ann/x", "/mnt/backup~/x");
	check("/home//bob/x and /srv//people//ann/x", "~/x and ~/x");
	check("?file=%2Fhome%2Fbob%2Fx and %2fUsers%2fbob", "?file=~%2Fx and ~");
	check("\\\\wsl$\\Debian\\home\\bob\\x", "\\\\wsl$\\Debian~\\x");
	check("\"\\\\\\\\wsl.localhost\\\\Debian\\\\home\\\\bob\\\\x\"", "\"\\\\\\\\wsl.localhost\\\\Debian~\\\\x\"");
	check("c:\\users\\bob\\x /cygdrive/c/Users/bob/x", "~\\x ~/x");
	check("cd ~ann/src or ~ann, not ~anna or x~ann", "cd ~/src or ~, not ~anna or x~ann");
}

static void other_text_stays(void **state)
{
	static const char *const texts[] = {
		"", "sk-learn-and-other-names-of-packages", "ghp_short", "task-" A40, "desk-" A40, "AKIA", "AKIA1234",
		"npm_config_registry_is_a_variable_of_some_length", "react@18.2.0", "name@1.2.3-beta.4", "@scope/package", "a @ b.c",
		"git@github", "foo@bar", "x@y.1", "==", "a == b", "KEY=short", "TOKEN=$OTHER_VARIABLE", "token = parse(next)", "eyJ", "eyJhbGci.x.y",
		"-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----", "https://example.org/a:b@c", "http://[::1]:80/", "Bearer of news",
		"apiKey: process.env.KEY_2_OF_THEM", "\"maxTokens\": 4096, \"token\": 12345678901234567890", "password: required", "token: getToken2FromHeader(x)",
		"the secret = of success", "Basic 12345678901234", "12:34:AA", "100%40", "\"apiKeySource\":\"none\"",
		"docker run -u 1000:1000 x", "chown -u root:wheel", "login and password are needed", "a Cookie: small and brown, of good taste",
		"re_export_all_the_names_of_a_module_2", "secret_santa_of_the_whole_department_in_2026", "as-is-and-ak-47", "fw_update_of_all_devices_in_2026",
		"sk_learn_and_other_names", "a.b.c", "MTA.x.y", "EAAA", "patch.apply", "tag-us12", "pscale_branch_promotion_of_2026_and_later_ones",
		"\\u00e9\\n\\t\\\\ \"quoted\"", "d41d8cd98f00b204e9800998ecf8427e",
		"git@github.com:org/repo.git", "ssh://git@github.com/org/repo", "git@gitlab.example.com:~me/x", "icon@2x.png", "getty@tty1.service",
		/* an escape that begins a value is no quote: what is left of it would be no JSON */
		"{\"password\": \"\\u05e1abc123\"}", "{\"t\":\"X_KEY=\\u00e9abcdef123\"}",
		"PASS: test_of_utf8_2", "bypass=compass2", "PWD=/srv/app2", "\"thinkingSignature\":\"" A40 "\"", "--token count", "--password --force1",
		"Authorization: see RFC 7235, section 4.2", "map => value2of3", "if (token2 > 1)", "dp.status.of.the.development.environment.2026",
		"my_gh" "p_" A40, "@pytest.mark.skip", "ref@{upstream}", "0199a0c0-0000-7000-8000-000000000001",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		check(texts[i], texts[i]);
}

/* data of an image: after 200 characters of it, nothing is a key */
static void base64_stays(void **state)
{
	char in[1000];

	(void)state;
	snprintf(in, sizeof(in), "\"%s%s%s%s%s/BS" "A%s%s\"", M40, M40, M40, M40, M40, M20, M20);
	check(in, in);
	check("https://x.example/?q=/BS" "A" M40, "https://x.example/?q=/[redacted:key-of-another-service]");
}

static void it_tells_what_it_replaced(void **state)
{
	struct grove_buf out = GROVE_BUF_INIT, words = GROVE_BUF_INIT;
	struct redactor r;

	(void)state;
	redactor_init(&r, NULL);
	assert_int_equal(redactor_tell(&r, &words), 0);
	assert_non_null(strstr(words.ptr, "nothing"));
	words.len = 0;
	redact_text(&r, grove_str("a@b.org, c@d.org: /home/x and gh" "p_" A40), &out);
	assert_int_equal(redactor_tell(&r, &words), 0);
	assert_string_equal(words.ptr, "home-directory: 1, e-mail-address: 2, github-token: 1");
	grove_buf_release(&out);
	grove_buf_release(&words);
}

/* ------------------------------------------------------- data/secrets.rules */

/* Appends an example: <a20> and the like become characters; what is in « » is replaced in `out`. */
static void expand(const char *text, size_t len, const char *name, struct grove_buf *in, struct grove_buf *out)
{
	static const struct {
		char sign;
		const char *of;
	} runs[] = { { 'a', A20 }, { 'm', M20 }, { 'x', "0123456789abcdef" }, { 'u', U16 }, { 'd', "1234567890" } };
	const char *end = text + len;
	int whole = !memmem(text, len, "«", 2), inside = whole && name;
	char words[64];

	snprintf(words, sizeof(words), "[redacted:%s]", name ? name : "");
	if (inside)
		grove_buf_add(out, grove_str(words));
	for (const char *p = text; p < end; p++) {
		struct grove_slice s = { p, 1 };
		size_t run = 0;
		unsigned nr = 0;
		int used = 0;

		if (end - p > 1 && (!memcmp(p, "«", 2) || !memcmp(p, "»", 2))) {
			inside = !memcmp(p, "«", 2);
			if (inside)
				grove_buf_add(out, grove_str(words));
			p++;
			continue;
		}
		for (size_t i = 0; i < sizeof(runs) / sizeof(*runs); i++)
			if (end - p > 3 && p[0] == '<' && p[1] == runs[i].sign && sscanf(p + 2, "%u>%n", &nr, &used) == 1 && used)
				run = i + 1;
		if (run && nr) {
			for (sscanf(p + 2, "%u>%n", &nr, &used); nr; nr--) {
				const char *of = runs[run - 1].of;

				s = (struct grove_slice){ of + (nr % strlen(of)), 1 };
				grove_buf_add(in, s);
				if (!inside)
					grove_buf_add(out, s);
			}
			p += 1 + used;
			continue;
		}
		if (*p == '\\' && end - p > 1 && (p[1] == 'n' || p[1] == 't')) {
			s.ptr = p[1] == 'n' ? "\n" : "\t";
			p++;
		}
		grove_buf_add(in, s);
		if (!inside)
			grove_buf_add(out, s);
	}
}

static void check_example(struct grove_slice name, struct grove_slice text, int goes)
{
	struct grove_buf in = GROVE_BUF_INIT, out = GROVE_BUF_INIT;
	char word[40];

	snprintf(word, sizeof(word), "%.*s", (int)name.len, name.ptr);
	expand(text.ptr, text.len, goes ? word : NULL, &in, &out);
	check(in.ptr, goes ? out.ptr : in.ptr);
	grove_buf_release(&in);
	grove_buf_release(&out);
}

static void each_row_is_its_own_test(void **state)
{
	struct grove_slice rest = { secrets_rules, secrets_rules_len };
	unsigned rows = 0;

	(void)state;
	while (rest.len) {
		const char *end = memchr(rest.ptr, '\n', rest.len), *p = rest.ptr;
		struct grove_slice column[5];
		unsigned nr = 0;

		assert_non_null(end);
		while (p < end && nr < 5) {
			const char *tab = memchr(p, '\t', (size_t)(end - p));

			column[nr++] = (struct grove_slice){ p, (size_t)((tab ? tab : end) - p) };
			for (p = tab ? tab : end; p < end && *p == '\t'; p++)
				;
		}
		if (nr && *rest.ptr != '#' && memcmp(rest.ptr, "let\t", 4)) {
			assert_int_equal(nr, 5);
			check_example(column[0], column[3], 1);
			check_example(column[0], column[4], 0);
			rows++;
		}
		rest.len -= (size_t)(end + 1 - rest.ptr);
		rest.ptr = end + 1;
	}
	assert_true(rows > 150);
}

/* Values as people choose and programs make them, wherever they are given. */
static void values_of_all_shapes_go(void **state)
{
	static const char *const forms[] = {
		"DB_PASSWORD=\"%s\"", "export JWT_SECRET='%s'", "SECRET_KEY = '%s'", "{\"passphrase\": \"%s\"}", "{\"t\":\"{\\\"password\\\":\\\"%s\\\"}\"}",
		"password: '%s'", "passwd = \"%s\"", "'secret' => '%s'", "os.environ[\"API_KEY\"] = \"%s\"", "let api_key: &str = \"%s\";",
		"const clientSecret: string = '%s'", "client_secret = `%s`", "\"secretKey\":\"%s\"", "apiKey := \"%s\"",
	};
	static const char *const values[] = {
		"Tr0ub4dor&3x&more", "aB(3;k)Lx-and-more", "django-insecure-x@#$%^&*(-_=+)1", "x[4]{y}9-long-one", "p4ss,word|with;all",
		"a<b>c0d(e)f[g]{h}", "0123456789abcdef.0123", "A1!b2@C3#d4$E5%", "hunter two x and more",
	};
	char in[200], out[200];

	(void)state;
	for (size_t f = 0; f < sizeof(forms) / sizeof(*forms); f++)
		for (size_t v = 0; v < sizeof(values) / sizeof(*values); v++) {
			const char *at = strstr(forms[f], "%s");

			snprintf(in, sizeof(in), "%.*s%s%s", (int)(at - forms[f]), forms[f], values[v], at + 2);
			snprintf(out, sizeof(out), "%.*s[redacted:secret-in-variable]%s", (int)(at - forms[f]), forms[f], at + 2);
			check(in, out);
		}
}

static void more_shapes(void **state)
{
	(void)state;
	check("JWT_SECRET=\"correct horse battery staple\"", "JWT_SECRET=\"[redacted:secret-in-variable]\"");
	check("SMTP_PASSWORD=Tr0ub4dor&3x", "SMTP_PASSWORD=[redacted:secret-in-variable]");
	check("A_KEY=abcdefgh1&B_TOKEN=abcdefgh2; echo", "A_KEY=[redacted:secret-in-variable]&B_TOKEN=[redacted:secret-in-variable]; echo");
	check("mysql -u root -pS3cret shop", "mysql -u root -p[redacted:secret-in-variable] shop");
	check("\"mysqldump --single-transaction -h db -uroot -p'S3 x'\"", "\"mysqldump --single-transaction -h db -uroot -p'S3 x'\"");
	check("\"auths\":{\"x\":{\"auth\":\"YW5uOnMzY3JldA==\"}}", "\"auths\":{\"x\":{\"auth\":\"[redacted:secret-in-variable]\"}}");
	check("    client-key-data: LS0tLS1CRUdJTiBSU0E=", "    client-key-data: [redacted:secret-in-variable]");
	check("Server=db;User Id=sa;Password=S3cret99;Encrypt=true", "Server=db;User Id=sa;Password=[redacted:secret-in-variable];Encrypt=true");
	check("jdbc:postgresql://db/x?user=ann&password=s3cret99&ssl=true", "jdbc:postgresql://db/x?user=ann&password=[redacted:secret-in-variable]&ssl=true");
	check("mongodb+srv://ann:s3cr%40t@c.example/x", "mongodb+srv://ann:[redacted:password-in-url]@c.example/x");
	check("DATADOG_API_KEY 0123456789abcdef0123456789abcdef", "DATADOG_API_KEY [redacted:secret-in-variable]");
	/* and what only looks like one */
	check("{\"password\": {\"type\": \"string\", \"minLength\": 8}}", "{\"password\": {\"type\": \"string\", \"minLength\": 8}}");
	check("\"token\": \"${{ secrets.NPM_TOKEN2 }}\"", "\"token\": \"${{ secrets.NPM_TOKEN2 }}\"");
	check("API_KEY=\"$OTHER_KEY_2\" PASSWORD=`cat file2`", "API_KEY=\"$OTHER_KEY_2\" PASSWORD=`cat file2`");
	check("apiKey: \"https://example.org/page2\"", "apiKey: \"https://example.org/page2\"");
	check("const token = await getToken(\"abc\", 2)", "const token = await getToken(\"abc\", 2)");
	check("if (password == \"\" || x2 == \"\")", "if (password == \"\" || x2 == \"\")");
	check("input_tokens: 1234567890123456, \"cache_read_input_tokens\":1234567890", "input_tokens: 1234567890123456, \"cache_read_input_tokens\":1234567890");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_shape_is_replaced),
		cmocka_unit_test(a_part_is_replaced),
		cmocka_unit_test(json_remains_json),
		cmocka_unit_test(homes_become_a_tilde),
		cmocka_unit_test(other_text_stays),
		cmocka_unit_test(base64_stays),
		cmocka_unit_test(it_tells_what_it_replaced),
		cmocka_unit_test(each_row_is_its_own_test),
		cmocka_unit_test(values_of_all_shapes_go),
		cmocka_unit_test(more_shapes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
