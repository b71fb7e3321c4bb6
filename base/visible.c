/* Foreign words made fit to be seen; see visible.h. */
#include "visible.h"

#include "text.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef struct range {
	uint32_t first, last;
} range;

/* Not seen, or they turn the direction: Cf, Zl, Zp and Default_Ignorable_Code_Point of Unicode 15. */
static const range hidden[] = {
	{0x80, 0x9f},       {0xad, 0xad},       {0x34f, 0x34f},     {0x600, 0x605},     {0x61c, 0x61c},
	{0x6dd, 0x6dd},     {0x70f, 0x70f},     {0x890, 0x891},     {0x8e2, 0x8e2},     {0x115f, 0x1160},
	{0x17b4, 0x17b5},   {0x180b, 0x180f},   {0x200b, 0x200f},   {0x2028, 0x202e},   {0x2060, 0x206f},
	{0x3164, 0x3164},   {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},   {0xffa0, 0xffa0},   {0xfff0, 0xfffb},
	{0x110bd, 0x110bd}, {0x110cd, 0x110cd}, {0x13430, 0x1343f}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a},
	{0xe0000, 0xe0fff},
};

/* Marks that stand on the character before. */
static const range combining[] = {
	{0x300, 0x36f},   {0x483, 0x489},   {0x591, 0x5bd},   {0x610, 0x61a},   {0x64b, 0x65f},
	{0x6d6, 0x6dc},   {0x900, 0x902},   {0x93c, 0x93c},   {0x941, 0x948},   {0x94d, 0x94d},
	{0xe31, 0xe31},   {0xe34, 0xe3a},   {0xe47, 0xe4e},   {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff},
	{0x20d0, 0x20f0}, {0x3099, 0x309a}, {0xfe20, 0xfe2f},
};

/* Two columns each: East_Asian_Width W and F by their blocks. */
static const range wide[] = {
	{0x1100, 0x115e},   {0x2e80, 0x303e},   {0x3041, 0x3098},   {0x309b, 0x33ff},   {0x3400, 0x4dbf},
	{0x4e00, 0xa4cf},   {0xa960, 0xa97f},   {0xac00, 0xd7a3},   {0xf900, 0xfaff},   {0xfe30, 0xfe6f},
	{0xff00, 0xff60},   {0xffe0, 0xffe6},   {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff},
	{0x20000, 0x3fffd},
};

static bool is_in(const range *list, size_t n, uint32_t code)
{
	for (size_t i = 0; i < n; i++)
		if (code >= list[i].first && code <= list[i].last)
			return true;
	return false;
}

#define IS_IN(list, code) is_in(list, sizeof(list) / sizeof *(list), code)

static bool is_plain(unsigned char c)
{
	return c >= ' ' && c < 127;
}

berth_visible_char berth_visible_at(const char *text, size_t n)
{
	berth_visible_char c = {.used = 1, .cells = 1};
	unsigned char byte = (unsigned char)text[0];
	uint32_t code = 0;
	int len = berth_text_utf8(text, n, &code);
	if (is_plain(byte))
		c.shown[0] = text[0];
	else if (byte == '\n' || byte == '\t' || byte == '\r')
		snprintf(c.shown, sizeof c.shown, "\\%c", byte == '\n' ? 'n' : byte == '\t' ? 't' : 'r');
	else if (len <= 1)
		snprintf(c.shown, sizeof c.shown, "\\x%02x", (unsigned)byte);
	else if (IS_IN(hidden, code))
		snprintf(c.shown, sizeof c.shown, code > 0xffff ? "\\U%08lx" : "\\u%04lx",
		         (unsigned long)code);
	else
		memcpy(c.shown, text, (size_t)len);
	c.used = len > 1 ? len : 1;
	if (len > 1 && c.shown[0] != '\\')
		c.cells = IS_IN(combining, code) ? 0 : IS_IN(wide, code) ? 2 : 1;
	else
		c.cells = (int)strlen(c.shown);
	return c;
}

char *berth_visible_copy(char *out, size_t size, const char *text, size_t n)
{
	size_t len = 0;
	n = strnlen(text, n);
	for (size_t i = 0; i < n;) {
		berth_visible_char c = berth_visible_at(text + i, n - i);
		size_t more = strlen(c.shown);
		if (more >= size - len)
			break;
		memcpy(out + len, c.shown, more);
		len += more;
		i += (size_t)c.used;
	}
	out[len] = '\0';
	return out;
}

/* Bytes of berth_visible; *same: it is the text itself. */
static size_t length_of(const char *text, size_t n, bool *same)
{
	size_t len = 0;
	*same = true;
	for (size_t i = 0; i < n;) {
		berth_visible_char c = berth_visible_at(text + i, n - i);
		size_t more = strlen(c.shown);
		*same &= more == (size_t)c.used;
		len += more;
		i += (size_t)c.used;
	}
	return len;
}

const char *berth_visible(berth_arena *mem, const char *text)
{
	bool same;
	size_t n = strlen(text), len = length_of(text, n, &same);
	if (same)
		return text;
	char *out = berth_arena_alloc(mem, len + 1, 1);
	return out ? berth_visible_copy(out, len + 1, text, n) : NULL;
}

size_t berth_visible_width(const char *text, size_t n)
{
	size_t cells = 0;
	n = strnlen(text, n);
	for (size_t i = 0; i < n;) {
		berth_visible_char c = berth_visible_at(text + i, n - i);
		cells += (size_t)c.cells;
		i += (size_t)c.used;
	}
	return cells;
}

size_t berth_visible_whole(const char *text, size_t n)
{
	static const unsigned char lead[] = {0, 0xc0, 0xe0, 0xf0};
	for (size_t back = 1; back <= 3 && back <= n; back++) {
		unsigned char c = (unsigned char)text[n - back];
		if (c >> 6 != 2)
			return c >= lead[back] ? n - back : n;
	}
	return n;
}
