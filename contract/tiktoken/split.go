package tiktoken

import "unicode/utf8"

// How OpenAI splits text before it looks for tokens: none reaches over such a
// border. Package regexp has no (?!\S), so what OpenAI writes as \s+(?!\S)|\s+ is
// the group here, see [encoding.piece]; in return it needs time in proportion to
// the text, whatever that is. Its \s is ASCII alone, so space is Unicode's.
const (
	space    = `\t-\r\x{85}\pZ`
	spaces   = `([` + space + `]+)`
	lines    = `[` + space + `]*[\r\n]+|`
	shortcut = `(?i:'s|'t|'re|'ve|'m|'ll|'d)`

	splitR50k = `^(?:'s|'t|'re|'ve|'m|'ll|'d| ?\pL+| ?\pN+| ?[^` + space + `\pL\pN]+|` + spaces + `)`

	splitCl100k = `^(?:` + shortcut + `|[^\r\n\pL\pN]?\pL+|\pN{1,3}| ?[^` + space + `\pL\pN]+[\r\n]*|` + lines + spaces + `)`

	upper      = `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\pM]`
	lower      = `[\p{Ll}\p{Lm}\p{Lo}\pM]`
	splitO200k = `^(?:[^\r\n\pL\pN]?` + upper + `*` + lower + `+` + shortcut + `?` +
		`|[^\r\n\pL\pN]?` + upper + `+` + lower + `*` + shortcut + `?` +
		`|\pN{1,3}| ?[^` + space + `\pL\pN]+[\r\n/]*|` + lines + spaces + `)`
)

// piece is how many bytes of the text come before the first border.
func (e *encoding) piece(text string) int {
	found := e.split.FindStringSubmatchIndex(text)
	end := found[1]
	if found[2] < 0 || end == len(text) {
		return end
	}
	// Of several spaces before a word the last one belongs to the word.
	if _, last := utf8.DecodeLastRuneInString(text[:end]); last < end {
		return end - last
	}
	return end
}
