/*
 * tests/unit/test_xcsh_prepare.c: what is stored of a line, and what is read
 * back.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "dialect/xcsh.h"
#include "dialect/xcsh_walk.h"
#include "js/js.h"
#include "json/scan.h"
#include "json/value.h"
#include "json/write.h"

#include "../lib/chance.h"

#define LIMIT 500000
#define NOTICE "\\n\\n[Session persistence truncated large content]"

/* --- blobs in memory: the reference is the number of the blob --- */

#define BLOBS 4096
static struct grove_buf blobs[BLOBS];
static size_t nr_blobs, nr_gets;

static int keep(void *payload, struct grove_slice bytes, const char *ext, struct grove_buf *ref)
{
	size_t i;

	assert_null(ext); /* an xcsh blob has one name */
	if (payload)
		return *(int *)payload;
	for (i = 0; i < nr_blobs; i++)
		if (grove__slice_eq(grove__buf_slice(&blobs[i]), bytes))
			break;
	assert_true(i < BLOBS);
	if (i == nr_blobs) {
		assert_int_equal(grove__buf_add_slice(&blobs[i], bytes), 0);
		nr_blobs++;
	}
	return grove__buf_addf(ref, "blob:sha256:%064zx", i);
}

static int fetch(void *payload, struct grove_slice ref, struct grove_buf *bytes)
{
	char digits[65];
	size_t i;

	nr_gets++;
	assert_int_equal(ref.len, 12 + 64);
	assert_true(grove__slice_starts(ref, "blob:sha256:"));
	memcpy(digits, ref.ptr + 12, 64);
	digits[64] = '\0';
	i = (size_t)strtoull(digits, NULL, 16);
	if (payload || i >= nr_blobs) {
		assert_int_equal(grove__buf_add_str(bytes, "rubbish"), 0);
		return payload ? *(int *)payload : GROVE_ENOTFOUND;
	}
	return grove__buf_add_slice(bytes, grove__buf_slice(&blobs[i]));
}

static const struct grove__blob_sink sink = { keep, NULL };
static const struct grove__blob_source source = { fetch, NULL };

static int forget(void **state)
{
	(void)state;
	while (nr_blobs)
		grove__buf_release(&blobs[--nr_blobs]);
	nr_gets = 0;
	return 0;
}

#define REF(digit) "blob:sha256:000000000000000000000000000000000000000000000000000000000000000" digit

/* --- lines --- */

/*
 * JSON in C, easier to read: ' is ", and %N* repeats the character * N times.
 */
static struct grove_buf text_of(const char *pattern)
{
	struct grove_buf b = GROVE_BUF_INIT;
	const char *p;

	for (p = pattern; *p; p++) {
		if (*p == '%') {
			char *end;
			size_t n = strtoul(p + 1, &end, 10), width = 1;

			while (((unsigned char)end[width] & 0xc0) == 0x80)
				width++;
			while (n--)
				assert_int_equal(grove__buf_add(&b, end, width), 0);
			p = end + width - 1;
		} else {
			assert_int_equal(grove__buf_add_char(&b, *p == '\'' ? '"' : *p), 0);
		}
	}
	return b;
}

static void assert_same(const struct grove_buf *have, const struct grove_buf *want)
{
	size_t i, n = have->len < want->len ? have->len : want->len;

	for (i = 0; i < n && have->ptr[i] == want->ptr[i]; i++)
		;
	if (i < n || have->len != want->len)
		fail_msg("length %zu, not %zu; from byte %zu on: %.200s, not %.200s", have->len,
			 want->len, i, have->ptr + i, want->ptr + i);
}

/* NULL: needs no change. */
static void check_prepare(const char *line, const char *expect)
{
	struct grove_buf in = text_of(line), out = GROVE_BUF_INIT, want;
	int rc = grove__xcsh_prepare(grove__buf_slice(&in), &sink, &out);

	assert_int_equal(rc, expect ? 0 : 1);
	if (expect) {
		want = text_of(expect);
		assert_same(&out, &want);
		grove__buf_release(&want);
	} else {
		assert_int_equal(out.len, 0);
	}
	grove__buf_release(&in);
	grove__buf_release(&out);
}

static void check_restore(const char *value, bool is_message, const char *expect)
{
	struct grove_buf in = text_of(value), out = GROVE_BUF_INIT, want;
	int rc = grove__xcsh_restore(grove__buf_slice(&in), is_message, &source, &out);

	assert_int_equal(rc, expect ? 0 : 1);
	if (expect) {
		want = text_of(expect);
		assert_same(&out, &want);
		grove__buf_release(&want);
	} else {
		assert_int_equal(out.len, 0);
	}
	grove__buf_release(&in);
	grove__buf_release(&out);
}

/* --- storing --- */

static void an_ordinary_line_needs_no_change(void **state)
{
	(void)state;
	check_prepare("{}", NULL);
	check_prepare("{'type':'message','message':{'role':'user','content':'an image_url, partialJson'}}", NULL);
	check_prepare("{'image_url':'https://x/y.png','content':[{'type':'image'}]}", NULL);
	check_prepare("'image'", NULL);
	check_prepare("{'a':'%500000x'}", NULL);
	check_prepare("{'a':'%500000é','b':[1,{'c':null}]}", NULL);
}

static void a_string_over_the_limit_is_cut_to_it(void **state)
{
	(void)state;
	check_prepare("{'a':'%500001x','b':1}", "{'a':'%499953x" NOTICE "','b':1}");
	check_prepare("{'a':['y','%600000é']}", "{'a':['y','%499953é" NOTICE "']}");
	check_prepare("'%500001x'", "'%499953x" NOTICE "'");
	check_prepare("{'a':'%400000x%100001\\\\'}", NULL); /* two bytes, one unit */
}

static void the_limit_counts_utf_16_units(void **state)
{
	(void)state;
	check_prepare("{'a':'%250000😀'}", NULL);
	check_prepare("{'a':'%499999xé'}", NULL);
	check_prepare("{'a':'%250000😀x'}", "{'a':'%249976😀" NOTICE "'}");
	check_prepare("{'a':'x%250000😀'}", "{'a':'x%249976😀" NOTICE "'}");
	check_prepare("{'a':'%499952x%100😀'}", "{'a':'%499952x" NOTICE "'}");
	check_prepare("{'a':'%499951x%100😀'}", "{'a':'%499951x😀" NOTICE "'}");
}

static void a_cut_does_not_leave_half_a_character(void **state)
{
	(void)state;
	check_prepare("{'a':'%499952x\\ud83d%100y'}", "{'a':'%499952x" NOTICE "'}");
	check_prepare("{'a':'%499951x\\ud83d%100y'}", "{'a':'%499951x\\ud83dy" NOTICE "'}");
	check_prepare("{'a':'%499952x\\ude00%100y'}", "{'a':'%499952x\\ude00" NOTICE "'}");
}

static void escapes_count_as_what_they_mean(void **state)
{
	struct grove_buf in = GROVE_BUF_INIT, out = GROVE_BUF_INIT;
	size_t i;

	(void)state;
	assert_int_equal(grove__buf_add_str(&in, "{\"a\":\""), 0);
	for (i = 0; i < LIMIT; i++)
		assert_int_equal(grove__buf_add_str(&in, i % 2 ? "\\n" : "\\u001b"), 0);
	assert_int_equal(grove__buf_add_str(&in, "\"}"), 0);
	assert_int_equal(grove__xcsh_prepare(grove__buf_slice(&in), &sink, &out), 1);
	grove__buf_cut(&in, in.len - 2);
	assert_int_equal(grove__buf_add_str(&in, "\\\"\"}"), 0);
	assert_int_equal(grove__xcsh_prepare(grove__buf_slice(&in), &sink, &out), 0);
	assert_int_equal(grove__xcsh_units(grove__json_get(grove__buf_slice(&out), "a")), LIMIT);
	assert_memory_equal(out.ptr, "{\"a\":\"\\u001b\\n\\u001b", 20);
	grove__buf_release(&in);
	grove__buf_release(&out);
}

static void a_signature_over_the_limit_is_worth_nothing(void **state)
{
	(void)state;
	check_prepare("{'textSignature':'%500001x','thoughtSignature':['%500001x','y'],'thinkingSignature':'%500001x'}",
		      "{'textSignature':'','thoughtSignature':['','y'],'thinkingSignature':''}");
	check_prepare("{'textSignature':'%500000x'}", NULL);
}

static void what_a_signature_protects_is_not_cut(void **state)
{
	(void)state;
	check_prepare("{'content':[{'type':'thinking','thinking':'%500001x','thinkingSignature':'s'}]}", NULL);
	check_prepare("[{'thinkingSignature':'%500000s','thinking':'%500001x','type':'thinking'}]", NULL);
	check_prepare("[{'type':'thinking','thinking':'%500001x','thinkingSignature':''}]",
		      "[{'type':'thinking','thinking':'%499953x" NOTICE "','thinkingSignature':''}]");
	check_prepare("[{'type':'thinking','thinking':'%500001x'}]",
		      "[{'type':'thinking','thinking':'%499953x" NOTICE "'}]");
	check_prepare("[{'type':'note','thinking':'%500001x','thinkingSignature':'s'}]",
		      "[{'type':'note','thinking':'%499953x" NOTICE "','thinkingSignature':'s'}]");
	check_prepare("[{'type':'thinking','thinking':'%500001x','thinkingSignature':'%500001s'}]",
		      "[{'type':'thinking','thinking':'%499953x" NOTICE "','thinkingSignature':''}]");
}

static void ciphers_are_not_cut(void **state)
{
	(void)state;
	check_prepare("[{'type':'redactedThinking','data':'%500001x'}]", NULL);
	check_prepare("[{'encrypted_content':'%500001x'},{'encrypted_content':['%500001y',{'data':'%500001z'}]}]", NULL);
	check_prepare("[{'type':'other','data':'%500001x'},{'data':['%500001x']}]",
		      "[{'type':'other','data':'%499953x" NOTICE "'},{'data':['%499953x" NOTICE "']}]");
}

static void an_image_in_a_content_array_becomes_a_blob(void **state)
{
	(void)state;
	check_prepare("{'message':{'content':[{'type':'image','data':'%1024B','mimeType':'image/png'},"
		      "{'type':'text','text':'see'},{'type':'image','data':'%1023C','mimeType':'image/png'}],'timestamp':1}}",
		      "{'message':{'content':[{'type':'image','data':'" REF("0") "','mimeType':'image/png'},"
		      "{'type':'text','text':'see'},{'type':'image','data':'%1023C','mimeType':'image/png'}],'timestamp':1}}");
	assert_int_equal(nr_blobs, 1);
	assert_int_equal(blobs[0].len, 768);
	/* also where the array is not a message's own, and in an array within */
	check_prepare("{'details':{'content':[[{'data':'%2000B','type':'image'}]]}}",
		      "{'details':{'content':[[{'data':'" REF("1") "','type':'image'}]]}}");
	assert_int_equal(nr_blobs, 2);
}

static void an_image_that_is_a_reference_stays_one(void **state)
{
	(void)state;
	check_prepare("{'content':[{'type':'image','data':'" REF("0") "'}]}", NULL);
	check_prepare("{'content':[{'type':'image','data':'blob:sha256:%2000x'}]}", NULL);
	assert_int_equal(nr_blobs, 0);
}

static void nothing_else_of_such_an_image_is_touched(void **state)
{
	(void)state;
	check_prepare("{'content':[{'type':'image','partialJson':1,'data':'%1024B','alt':'%500001x',"
		      "'d':{'image_url':'data:image/png;base64,AA'},'jsonlEvents':2}]}",
		      "{'content':[{'type':'image','partialJson':1,'data':'" REF("0") "','alt':'%500001x',"
		      "'d':{'image_url':'data:image/png;base64,AA'},'jsonlEvents':2}]}");
	assert_int_equal(nr_blobs, 1);
	/* a small one is an object like others */
	check_prepare("{'content':[{'type':'image','partialJson':1,'data':'BB','alt':'%500001x'}]}",
		      "{'content':[{'type':'image','data':'BB','alt':'%499953x" NOTICE "'}]}");
}

static void an_image_elsewhere_stays_whole_where_it_is(void **state)
{
	(void)state;
	check_prepare("{'files':[{'path':'p','image':{'type':'image','data':'%500001B'}}]}", NULL);
	check_prepare("{'x':{'mimeType':'image/png','data':'%500001B'}}", NULL);
	check_prepare("{'content':{'type':'image','data':'%500001B'}}", NULL);
	check_prepare("{'x':{'mimeType':1,'data':'%500001B'}}",
		      "{'x':{'mimeType':1,'data':'%499953B" NOTICE "'}}");
	assert_int_equal(nr_blobs, 0);
}

static void a_data_url_becomes_a_blob_whatever_its_size(void **state)
{
	(void)state;
	check_prepare("[{'image_url':'data:image/png;base64,AA=='},{'image_url':['data:image/é;base64,']},"
		      "{'image_url':'data:image/png,x'},{'image_url':'x data:image/png;base64,'},{'image_url':{'url':'data:image/png;base64,'}}]",
		      "[{'image_url':'" REF("0") "'},{'image_url':['" REF("1") "']},"
		      "{'image_url':'data:image/png,x'},{'image_url':'x data:image/png;base64,'},{'image_url':{'url':'data:image/png;base64,'}}]");
	assert_string_equal(blobs[0].ptr, "data:image/png;base64,AA==");
	assert_string_equal(blobs[1].ptr, "data:image/é;base64,");
	check_prepare("{'image_url':'data:image/png;base64,%600000A\\ud800'}", "{'image_url':'" REF("2") "'}");
	assert_string_equal(blobs[2].ptr + blobs[2].len - 4, "A\xef\xbf\xbd");
	check_prepare("{'image_url':'%500001x'}", "{'image_url':'%499953x" NOTICE "'}");
}

static void what_a_stream_left_behind_is_not_stored(void **state)
{
	(void)state;
	check_prepare("{'content':[{'type':'toolCall','id':'t1','name':'n','arguments':{'a':1,'partialJson':'x',"
		      "'deep':{'jsonlEvents':[1],'keep':2}},'partialJson':'{\\'a\\':1'}],'timestamp':1}",
		      "{'content':[{'type':'toolCall','id':'t1','name':'n','arguments':{'a':1,"
		      "'deep':{'keep':2}}}],'timestamp':1}");
	check_prepare("{'partialJson':{'partialJson':1},'a':1,'jsonlEvents':[],'partialJson':2,'b':[{'partialJson':'x'}],'jsonlEvents':1,'partialJson':3}",
		      "{'a':1,'b':[{}]}");
	check_prepare("{'partialJson':'%600000x'}", "{}");
	check_prepare("{'a':'partialJson','b':['jsonlEvents']}", NULL);
}

static void a_changed_file_counts_its_lines_again(void **state)
{
	(void)state;
	check_prepare("{'lineCount':900,'content':'a\\nb\\n%500000x','x':1}",
		      "{'lineCount':5,'content':'a\\nb\\n%499949x" NOTICE "','x':1}");
	check_prepare("{'content':'a\\nb','lineCount':900,'partialJson':1}", "{'content':'a\\nb','lineCount':2}");
	check_prepare("{'content':'','lineCount':0,'d':[{'partialJson':1}]}",
		      "{'content':'','lineCount':1,'d':[{}]}");
	check_prepare("[{'content':'','lineCount':9},{'partialJson':1}]", "[{'content':'','lineCount':9},{}]");
	check_prepare("{'content':[],'lineCount':9,'partialJson':1}", "{'content':[],'lineCount':9}");
	check_prepare("{'content':'','lineCount':'9','partialJson':1}", "{'content':'','lineCount':'9'}");
}

static void without_a_sink_images_stay(void **state)
{
	struct grove_buf in = text_of("{'content':[{'type':'image','data':'%600000B','image_url':'data:image/png;base64,'}]}");
	struct grove_buf out = GROVE_BUF_INIT;

	(void)state;
	assert_int_equal(grove__xcsh_prepare(grove__buf_slice(&in), NULL, &out), 1);
	grove__buf_release(&in);
	grove__buf_release(&out);
}

static void if_a_blob_is_not_kept_there_is_no_line(void **state)
{
	struct grove_buf in = text_of("{'partialJson':1,'x':2,'content':[{'type':'image','data':'%2000B'}]}");
	struct grove_buf out = GROVE_BUF_INIT;
	int answer = GROVE_EFULL;
	const struct grove__blob_sink broken = { keep, &answer };

	(void)state;
	assert_int_equal(grove__buf_add_str(&out, "before"), 0);
	assert_int_equal(grove__xcsh_prepare(grove__buf_slice(&in), &broken, &out), GROVE_EFULL);
	assert_string_equal(out.ptr, "before");
	grove__buf_release(&in);
	grove__buf_release(&out);
}

static void depth_has_no_limit_and_no_price(void **state)
{
	struct grove_buf in = GROVE_BUF_INIT, out = GROVE_BUF_INIT;
	size_t i, depth = 100000;

	(void)state;
	for (i = 0; i < depth; i++)
		assert_int_equal(grove__buf_add_str(&in, "{\"lineCount\":100,\"content\":\"\",\"d\":["), 0);
	assert_int_equal(grove__buf_add_str(&in, "{\"partialJson\":1,\"a\":\"" REF("0") "\"}"), 0);
	for (i = 0; i < depth; i++)
		assert_int_equal(grove__buf_add_str(&in, "]}"), 0);
	assert_int_equal(grove__xcsh_prepare(grove__buf_slice(&in), &sink, &out), 0);
	assert_int_equal(out.len, in.len - 2 * depth - strlen("\"partialJson\":1,"));
	assert_int_equal(grove__xcsh_restore(grove__buf_slice(&in), false, &source, &out), 1);
	grove__buf_release(&in);
	grove__buf_release(&out);
}

/* --- reading --- */

static void references_come_back_as_what_they_stand_for(void **state)
{
	(void)state;
	assert_int_equal(grove__buf_add(&blobs[nr_blobs++], "\0\1\2\3", 4), 0);
	assert_int_equal(grove__buf_add_str(&blobs[nr_blobs++], "data:\"é\xff"), 0);
	check_restore("{'type':'message','message':{'content':[{'type':'image','data':'" REF("0") "','mimeType':'image/png'},"
		      "{'type':'image','data':'" REF("7") "'}]},'d': {'image_url':'" REF("1") "'} }", false,
		      "{'type':'message','message':{'content':[{'type':'image','data':'AAECAw==','mimeType':'image/png'},"
		      "{'type':'image','data':'" REF("7") "'}]},'d': {'image_url':'data:\\'é\xef\xbf\xbd'} }");
	/* deep inside, in any order, as an item; and as a message */
	check_restore("{'role':'toolResult','details':{'x':[{'data':'" REF("0") "','type':'image'}],'image_url':['" REF("0") "']}}",
		      true, "{'role':'toolResult','details':{'x':[{'data':'AAECAw==','type':'image'}],'image_url':['\\u0000\\u0001\\u0002\\u0003']}}");
	check_restore("{'type':'im\\u0061ge','data':'blob\\u003asha256:000000000000000000000000000000000000000000000000000000000000000\\u0030'}",
		      true, "{'type':'im\\u0061ge','data':'AAECAw=='}");
	/* of two the last one counts */
	check_restore("[{'type':'image','data':'x','data':'" REF("0") "'},{'type':'image','data':'" REF("0") "','data':1}]",
		      true, "[{'type':'image','data':'x','data':'AAECAw=='},{'type':'image','data':'" REF("0") "','data':1}]");
}

static void where_no_image_stands_a_reference_is_a_text(void **state)
{
	(void)state;
	assert_int_equal(grove__buf_add_str(&blobs[nr_blobs++], "x"), 0);
	check_restore("{'content':'" REF("0") "','data':'" REF("0") "','x':[{'type':'text','text':'" REF("0") "'}]}",
		      true, NULL);
	assert_int_equal(nr_gets, 0);
}

static void a_reference_that_is_not_64_digits_is_never_followed(void **state)
{
	static const char *const bad[] = {
		"blob:sha256:../secret.txt",
		"blob:sha256:",
		REF("0") "0",
		REF("g"),
		REF("A"),
		REF("\\u0000"),
		" " REF("0"),
		"blob:sha256:00000000000000000000000000000000000000000000000000000000000/../0",
	};

	(void)state;
	assert_int_equal(grove__buf_add_str(&blobs[nr_blobs++], "x"), 0);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		char line[600];

		snprintf(line, sizeof line, "{'content':[{'type':'image','data':'%s'},{'image_url':'%s'}]}",
			 bad[i], bad[i]);
		check_restore(line, true, NULL);
	}
	assert_int_equal(nr_gets, 0);
}

static void a_blob_that_is_not_there_leaves_its_reference(void **state)
{
	struct grove_buf in = text_of("{'content':[{'type':'image','data':'" REF("0") "'}]}");
	struct grove_buf out = GROVE_BUF_INIT;
	int answer = GROVE_EDAMAGED;
	const struct grove__blob_source broken = { fetch, &answer };

	(void)state;
	check_restore("{'content':[{'type':'image','data':'" REF("0") "'}]}", true, NULL);
	assert_int_equal(nr_gets, 1);
	assert_int_equal(grove__xcsh_restore(grove__buf_slice(&in), true, &broken, &out), 1);
	assert_int_equal(grove__xcsh_restore(grove__buf_slice(&in), true, NULL, &out), 1);
	answer = GROVE_ENOMEM;
	assert_int_equal(grove__xcsh_restore(grove__buf_slice(&in), true, &broken, &out), GROVE_ENOMEM);
	assert_int_equal(out.len, 0);
	grove__buf_release(&in);
	grove__buf_release(&out);
}

#define HISTORY "'providerPayload':{'type':'openaiResponsesHistory','items':[{'image_url':'" REF("0") "'}]}"

static void stale_replay_metadata_is_left_out(void **state)
{
	(void)state;
	check_restore("{'role':'assistant','content':[{'type':'thinking','thinking':'hm','thinkingSignature':'sig-1'},"
		      "{'type':'text','text':'a','thinkingSignature':'x'},{'thinkingSignature':null,'type':'thinking'}],'model':'m'," HISTORY "}",
		      true, "{'role':'assistant','content':[{'type':'thinking','thinking':'hm'},"
		      "{'type':'text','text':'a','thinkingSignature':'x'},{'type':'thinking'}],'model':'m'}");
	check_restore("{'type':'message','id':'a','message':{" HISTORY ",'role':'assistant','content':[]}}",
		      false, "{'type':'message','id':'a','message':{'role':'assistant','content':[]}}");
	assert_int_equal(nr_gets, 0);
}

static void metadata_of_others_stays(void **state)
{
	(void)state;
	check_restore("{'role':'user','content':[{'type':'thinking','thinkingSignature':'s'}]," HISTORY "}", true, NULL);
	check_restore("{'role':'assistant','content':[{'type':'thinking','thinkingSignature':'s'}],"
		      "'providerPayload':{'type':'other','note':'openaiResponsesHistory'}}", true, NULL);
	check_restore("{'role':'assistant'," HISTORY "}", false, NULL);
	check_restore("{'type':'custom','message':{'role':'assistant'," HISTORY "}}", false, NULL);
	/* only in the message itself */
	check_restore("{'role':'assistant','content':[{'type':'toolCall','arguments':{" HISTORY ",'content':"
		      "[{'type':'thinking','thinkingSignature':'s'}]}}]," HISTORY "}", true,
		      "{'role':'assistant','content':[{'type':'toolCall','arguments':{" HISTORY ",'content':"
		      "[{'type':'thinking','thinkingSignature':'s'}]}}]}");
}

/* --- there and back, at random --- */

static struct chance chance;

static unsigned pick(unsigned n)
{
	return chance_below(&chance, n);
}

static void add(struct grove_buf *b, const char *str)
{
	assert_int_equal(grove__buf_add_str(b, str), 0);
}

static const char *const keys[] = {
	"type", "data", "mimeType", "content", "lineCount", "thinking", "thinkingSignature",
	"textSignature", "image_url", "encrypted_content", "partialJson", "jsonlEvents",
	"providerPayload", "message", "role", "x",
};
static const char *const texts[] = {
	"", "image", "thinking", "redactedThinking", "assistant", "message", "openaiResponsesHistory",
	"data:image/png;base64,AAAA", "text\n", "é😀", REF("0"), "\xed\xa0\x80",
};

static void add_string(struct grove_buf *b, bool long_ones)
{
	struct grove_buf t = GROVE_BUF_INIT;
	size_t n = long_ones && !pick(12) ? LIMIT - 2 + pick(5) : !pick(4) ? 1020 + pick(8) : 0;
	static const char *const units[] = { "x", "é", "\n", "\xed\xa0\xbd" };
	const char *unit = units[pick(4)];

	if (!n)
		add(&t, texts[pick(sizeof texts / sizeof *texts)]);
	while (n--)
		add(&t, pick(50) ? unit : "y");
	assert_int_equal(grove__json_put_string(b, grove__buf_slice(&t)), 0);
	grove__buf_release(&t);
}

static void add_value(struct grove_buf *b, unsigned depth, bool long_ones)
{
	unsigned n = pick(5), kind = depth ? pick(5) : 0, i;

	if (kind < 2) {
		add_string(b, long_ones);
	} else if (kind == 2) {
		add(b, pick(2) ? "7" : "null");
	} else {
		add(b, kind == 3 ? "{" : "[");
		for (i = 0; i < n; i++) {
			if (i)
				add(b, ",");
			if (kind == 3) {
				assert_int_equal(grove__json_put_str(b, keys[pick(sizeof keys / sizeof *keys)]), 0);
				add(b, ":");
			}
			add_value(b, depth - 1, long_ones);
		}
		add(b, kind == 3 ? "}" : "]");
	}
}

static void assert_json(const struct grove_buf *b)
{
	struct grove__json_line l;
	struct grove__json_want want;
	struct grove_buf padded = GROVE_BUF_INIT;

	grove__json_want_init(&want, NULL, 0);
	assert_int_equal(grove__buf_add_slice(&padded, grove__buf_slice(b)), 0);
	assert_int_equal(grove__buf_reserve(&padded, GROVE__JSON_PAD + 1), 0);
	assert_int_equal(grove__buf_add_char(&padded, '\n'), 0);
	if (grove__json_scan(&want, padded.ptr, padded.len, true, &l) != JSON_VALUE)
		fail_msg("not JSON: %.1000s", b->ptr);
	grove__buf_release(&padded);
}

static bool is_canonical(const struct grove_buf *b)
{
	struct grove_buf c = GROVE_BUF_INIT;
	bool same;

	assert_int_equal(grove__json_put_canonical(&c, grove__buf_slice(b)), 0);
	same = grove__slice_eq(grove__buf_slice(&c), grove__buf_slice(b));
	grove__buf_release(&c);
	return same;
}

static void whatever_is_prepared_and_restored_is_json(void **state)
{
	(void)state;
	chance = chance_begin("values");
	for (int i = 0; i < 6000; i++) {
		struct grove_buf raw = GROVE_BUF_INIT, in = GROVE_BUF_INIT, out = GROVE_BUF_INIT;
		struct grove_buf back = GROVE_BUF_INIT;
		int rc;

		forget(NULL);
		add_value(&raw, 5, !(i % 20));
		assert_int_equal(grove__json_put_canonical(&in, grove__buf_slice(&raw)), 0);
		rc = grove__xcsh_prepare(grove__buf_slice(&in), &sink, &out);
		assert_true(rc == 0 || rc == 1);
		if (!rc) {
			assert_json(&out);
			assert_true(is_canonical(&out));
		}
		rc = grove__xcsh_restore(grove__buf_slice(rc ? &raw : &out), i % 2, &source, &back);
		assert_true(rc == 0 || rc == 1);
		if (!rc)
			assert_json(&back);
		grove__buf_release(&raw);
		grove__buf_release(&in);
		grove__buf_release(&out);
		grove__buf_release(&back);
	}
	forget(NULL);
}

static void images_come_back_as_they_were(void **state)
{
	(void)state;
	chance = chance_begin("values");
	for (int i = 0; i < 300; i++) {
		struct grove_buf in = GROVE_BUF_INIT, out = GROVE_BUF_INIT, back = GROVE_BUF_INIT;
		struct grove_buf bytes = GROVE_BUF_INIT;
		size_t n = 766 + pick(3000), depth = pick(4), k;

		forget(NULL);
		while (n--)
			assert_int_equal(grove__buf_add_char(&bytes, (char)pick(256)), 0);
		add(&in, "{\"type\":\"message\",\"message\":{\"details\":");
		for (k = 0; k < depth; k++)
			add(&in, "[{\"content\":");
		add(&in, "{\"content\":[{\"type\":\"image\",\"data\":\"");
		assert_int_equal(grove__js_base64(&in, grove__buf_slice(&bytes)), 0);
		add(&in, "\",\"mimeType\":\"image/png\"},{\"image_url\":\"data:image/gif;base64,");
		assert_int_equal(grove__js_base64(&in, grove__buf_slice(&bytes)), 0);
		add(&in, "\"}]}");
		for (k = 0; k < depth; k++)
			add(&in, "}]");
		add(&in, "}}");
		assert_int_equal(grove__xcsh_prepare(grove__buf_slice(&in), &sink, &out), 0);
		assert_json(&out);
		assert_int_equal(nr_blobs, 2);
		assert_true(out.len < 700);
		assert_int_equal(grove__xcsh_restore(grove__buf_slice(&out), false, &source, &back), 0);
		assert_same(&back, &in);
		grove__buf_release(&bytes);
		grove__buf_release(&in);
		grove__buf_release(&out);
		grove__buf_release(&back);
	}
	forget(NULL);
}

#define unit(f) cmocka_unit_test_teardown(f, forget)

int main(void)
{
	const struct CMUnitTest tests[] = {
		unit(an_ordinary_line_needs_no_change),
		unit(a_string_over_the_limit_is_cut_to_it),
		unit(the_limit_counts_utf_16_units),
		unit(a_cut_does_not_leave_half_a_character),
		unit(escapes_count_as_what_they_mean),
		unit(a_signature_over_the_limit_is_worth_nothing),
		unit(what_a_signature_protects_is_not_cut),
		unit(ciphers_are_not_cut),
		unit(an_image_in_a_content_array_becomes_a_blob),
		unit(an_image_that_is_a_reference_stays_one),
		unit(nothing_else_of_such_an_image_is_touched),
		unit(an_image_elsewhere_stays_whole_where_it_is),
		unit(a_data_url_becomes_a_blob_whatever_its_size),
		unit(what_a_stream_left_behind_is_not_stored),
		unit(a_changed_file_counts_its_lines_again),
		unit(without_a_sink_images_stay),
		unit(if_a_blob_is_not_kept_there_is_no_line),
		unit(depth_has_no_limit_and_no_price),
		unit(references_come_back_as_what_they_stand_for),
		unit(where_no_image_stands_a_reference_is_a_text),
		unit(a_reference_that_is_not_64_digits_is_never_followed),
		unit(a_blob_that_is_not_there_leaves_its_reference),
		unit(stale_replay_metadata_is_left_out),
		unit(metadata_of_others_stays),
		unit(whatever_is_prepared_and_restored_is_json),
		unit(images_come_back_as_they_were),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
