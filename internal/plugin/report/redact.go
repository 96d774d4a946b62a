// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"html"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

const (
	// shortest is the least length, in bytes, of a value that is looked for: a shorter one is in every text.
	shortest = 6
	// shortestWord is that of a word within a value that has many, such as a kubeconfig or orders.
	shortestWord = 16
	// shortestAssigned is that of a value that stands behind the name of a secret there: SQL Server's passwords have eight
	// characters, and what is shorter may be a word.
	shortestAssigned = 8
	// longest is the greatest length of a value that is looked for whole: what is longer, as a release of Helm, nobody
	// writes into a log.
	longest = 64 << 10
)

// redactor takes secrets out of texts: the values that it has learnt, in the forms in which programs write them, and
// whatever has the form of a secret.
type redactor struct {
	// marks are what stands for each text that is looked for.
	marks map[string]string
	known *strings.Replacer
}

func newRedactor() *redactor { return &redactor{marks: map[string]string{}} }

// learn has a value of a Secret looked for; where says which it is.
func (r *redactor) learn(where string, value []byte) {
	r.known = nil
	text := strings.TrimSpace(string(value))
	mark := "[redacted: " + where + "]"
	for _, whole := range []string{string(value), text} {
		if len(whole) >= shortest && len(whole) <= longest {
			r.look(mark, whole)
			r.look(mark, base64.StdEncoding.EncodeToString([]byte(whole)))
			r.look(mark, base64.URLEncoding.EncodeToString([]byte(whole)))
		}
	}
	pieces := []string{text}
	if strings.ContainsAny(text, " \n\t\"'{};&?@=") {
		pieces = append(append(pieces, words(text)...), within(text)...)
	}
	for _, piece := range pieces {
		if len(piece) >= shortest && len(piece) <= longest {
			for _, form := range forms(piece) {
				r.look(mark, form)
			}
		}
	}
}

func (r *redactor) look(mark, text string) {
	if _, known := r.marks[text]; !known && len(text) >= shortest {
		r.marks[text] = mark
	}
}

// forms are those in which programs write a value.
func forms(value string) []string {
	quoted, _ := json.Marshal(value)
	var plain strings.Builder
	encoder := json.NewEncoder(&plain)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(value) // a string is always encoded
	all := []string{
		value,
		string(quoted[1 : len(quoted)-1]),
		strings.TrimSuffix(strings.TrimPrefix(plain.String(), `"`), "\"\n"),
		strings.ReplaceAll(value, "'", "''"),
		strings.ReplaceAll(value, `"`, `""`),
		strings.ReplaceAll(value, "}", "}}"),
		html.EscapeString(value),
		url.QueryEscape(value),
		url.PathEscape(value),
		url.UserPassword("u", value).String()[len("u:"):],
		hex.EncodeToString([]byte(value)),
		strings.ToUpper(hex.EncodeToString([]byte(value))),
	}
	return append(all, within64(value)...)
}

// within64 are the characters by which base64 of a longer text has a value in it, wherever that begins, without those
// at its ends that depend on what is beside it.
func within64(value string) []string {
	var all []string
	for before := range 3 {
		padded := strings.Repeat("\x00", before) + value
		for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			text := encoding.EncodeToString([]byte(padded))
			text = text[(before*8+5)/6:]
			if (before+len(value))%3 != 0 {
				text = text[:len(text)-1]
			}
			if len(text) >= shortest {
				all = append(all, text)
			}
		}
	}
	return all
}

// wordsIn are runs of the characters that tokens, keys and passwords are made of.
var wordsIn = regexp.MustCompile(`[A-Za-z0-9+/=_.~!@#$%^*-]{16,}`)

// words are those parts of a value of many that may be secrets by themselves.
func words(text string) []string {
	var found []string
	for _, word := range wordsIn.FindAllString(text, -1) {
		if len(word) >= shortestWord && strange(word) {
			found = append(found, word)
		}
	}
	return found
}

// strange tells a word that nobody would give as a name.
func strange(word string) bool {
	upper, digit := strings.IndexFunc(word, unicode.IsUpper) >= 0, strings.IndexFunc(word, unicode.IsDigit) >= 0
	name := !upper && strings.ContainsAny(word, "-.") // a name, a host or a UID, in Kubernetes
	return !name && (upper || digit)
}

// shape is the form of a secret, with what stands for it.
type shape struct {
	is   *regexp.Regexp
	mark string
}

const unknownMark = "[redacted]"

// privateKey is one over several lines, to the end of the text where it has none.
var privateKey = regexp.MustCompile(
	`(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----.*?(-----END [A-Z0-9 ]*PRIVATE KEY-----|\z)`)

// shapes find in a line what no Secret that could be read has.
var shapes = []shape{
	{regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]*`), unknownMark},
	{regexp.MustCompile(`(?i)\b(bearer|basic) +[A-Za-z0-9+/=._~-]{8,}`), "$1 " + unknownMark},
	{regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://)[^/\s@"']*:[^/\s@"']+@`), "${1}" + unknownMark + "@"},
	{regexp.MustCompile(`\b(AKIA|ASIA)[0-9A-Z]{16}\b`), unknownMark},
	{regexp.MustCompile(`AGE-SECRET-KEY-1[0-9A-Z]+`), unknownMark},
	{regexp.MustCompile(`\b0x02[0-9A-Fa-f]{80,}`), unknownMark}, // the hash of a login's password
	// A key in base64, as kubeconfigs have it: not so a certificate, which is no secret.
	{regexp.MustCompile(`\bLS0tLS1CRUdJTiB[EFPQS][A-Za-z0-9+/=_-]*`), unknownMark},
	{regexp.MustCompile(`([?&;]sig=)[^&\s"';]+`), "${1}" + unknownMark}, // of a URL that Azure has signed
	// Procedures and programs that take a password without its name.
	{regexp.MustCompile(`(?i)(\bsp_(?:password|addlogin|changedistributor_password)[ \t]+)(?:N?'|@).*`),
		"${1}" + unknownMark},
	{regexp.MustCompile(`((?i:\b(?:sqlcmd|bcp)\b).*?\s-P[ \t]*)(?:'[^']*'|"[^"]*"|\S+)`), "${1}" + unknownMark},
	{regexp.MustCompile(`(?i)(--[a-z0-9-]*(?:password|passwd|secret|token)[ \t]+)[^\s-]\S*`), "${1}" + unknownMark},
}

// secretNames end the names of secrets.
const secretNames = `(?:passwords?|passwd|pwd|passphrase|secret|token|api[_-]?key|access[_-]?key(?:[_-]?id)?|` +
	`secret[_-]?key|account[_-]?key|private[_-]?key|access[_-]?signature|x-amz-signature|credential|authorization)`

// assigned find a value behind such a name: in a connection string, where it goes on to a semicolon or is in braces;
// and in YAML, JSON, also within JSON, an environment or T-SQL.
var assigned = []*regexp.Regexp{
	regexp.MustCompile(`(?i)((?:password|pwd)[ \t]*=[ \t]*)` +
		`(N?'(?:[^']|'')*(?:'|$)|\{(?:[^}]|\}\})*(?:\}|$)|[^\s;"'{\[\\][^\s;"]*)`),
	regexp.MustCompile(`(?i)([A-Za-z0-9_.-]*` + secretNames + `(?:\\*["'])?[ \t]*[:=]+[ \t]*)` +
		`(N?'(?:[^']|'')*(?:'|$)|\\+"(?:[^"\\]|\\\\\\"|\\[^"])*(?:\\+"|"|$)|"(?:[^"\\]|\\.|"")*(?:"|$)|` +
		`[^\s,;&"'(){}\[\]]+)`),
}

// secretName is a key of an object whose value is a secret.
var secretName = regexp.MustCompile(`(?i)` + secretNames + `$`)

// userinfo has the password within a URL.
var userinfo = regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://[^/\s@"':]*:([^/\s@"']+)@`)

// suspicious are in every line, in lower case, that one of these may be found in: most lines are looked at no further.
var suspicious = []string{"pass", "pwd", "secret", "token", "key", "credential", "authorization", "bearer", "basic",
	"://", "eyj", "akia", "asia", "0x02", "ls0tls1crudjti", "sig=", "signature", "sp_addlogin", "sqlcmd", "bcp"}

// harmless are values that say nothing.
var harmless = regexp.MustCompile(`^(?i:true|false|null|none|\*+|\\?"\\?"|N?'')$`)

// clean is a text without secrets. It is the only way into the bundle.
func (r *redactor) clean(text string) string {
	if r.known == nil {
		// At each place the first that fits is taken: the longest.
		texts := slices.SortedFunc(maps.Keys(r.marks), func(a, b string) int {
			return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
		})
		var pairs []string
		for _, t := range texts {
			pairs = append(pairs, t, r.marks[t])
		}
		r.known = strings.NewReplacer(pairs...)
	}
	text = r.known.Replace(text)
	if strings.Contains(text, "PRIVATE KEY") {
		text = privateKey.ReplaceAllString(text, unknownMark)
	}
	var cleaned strings.Builder
	for line := range strings.Lines(text) {
		lower := strings.ToLower(line)
		if slices.ContainsFunc(suspicious, func(s string) bool { return strings.Contains(lower, s) }) {
			end := ""
			if strings.HasSuffix(line, "\n") {
				line, end = line[:len(line)-1], "\n"
			}
			line = shapeless(line) + end
		}
		cleaned.WriteString(line)
	}
	return cleaned.String()
}

// Clean is a text without what has the form of a secret, for those who know no Secrets.
func Clean(text string) string { return newRedactor().clean(text) }

// shapeless is a line without what has the form of a secret.
func shapeless(line string) string {
	for _, s := range shapes {
		line = s.is.ReplaceAllString(line, s.mark)
	}
	for _, is := range assigned {
		line = is.ReplaceAllStringFunc(line, func(found string) string {
			parts := is.FindStringSubmatch(found)
			if harmless.MatchString(parts[2]) || strings.Contains(parts[2], "[redacted") {
				return found
			}
			return parts[1] + unknownMark
		})
	}
	return line
}

// within are the secrets that a value of many names itself, such as a connection string or a kubeconfig.
func within(text string) []string {
	var found []string
	for _, is := range assigned {
		for _, m := range is.FindAllStringSubmatch(text, -1) {
			found = append(found, unquoted(m[2]))
		}
	}
	for _, m := range userinfo.FindAllStringSubmatch(text, -1) {
		if password, err := url.PathUnescape(m[1]); err == nil {
			found = append(found, password)
		}
	}
	return slices.DeleteFunc(found, func(value string) bool {
		return len(value) < shortestAssigned || harmless.MatchString(value)
	})
}

// unquoted is a value without what T-SQL, JSON or a connection string has around it.
func unquoted(value string) string {
	var text string
	if json.Unmarshal([]byte(value), &text) == nil {
		return text
	}
	for _, q := range []struct{ begins, ends string }{{"N'", "'"}, {"'", "'"}, {`\"`, `\"`}, {`"`, `"`}, {"{", "}"}} {
		if rest, is := strings.CutPrefix(value, q.begins); is {
			return strings.ReplaceAll(strings.TrimSuffix(rest, q.ends), q.ends+q.ends, q.ends)
		}
	}
	return value
}

// public are keys whose values are no secrets: certificates, and what connection Secrets say beside the password. An
// application's name of a user or a database is in everything that is to be read.
var public = map[string]bool{"ca.crt": true, "tls.crt": true, "issuers.crt": true, "trust.crt": true}

// publicOfOwn are those of Secrets that the operator writes.
var publicOfOwn = map[string]bool{"type": true, "provider": true, "host": true, "port": true, "username": true,
	"database": true}

// safeEnv are variables whose values are no secrets.
var safeEnv = regexp.MustCompile(`^(ACCEPT_EULA|TZ|LANG|GOMEMLIMIT|GOMAXPROCS|POD_[A-Z_]+|NODE_NAME|OPERATOR_IMAGE|` +
	`MSSQL_(PID|TCP_PORT|IP_ADDRESS|MEMORY_LIMIT_MB|AGENT_ENABLED|ENABLE_HADR|COLLATION|LCID|DATA_DIR|LOG_DIR|BACKUP_DIR))$`)

// object takes out of an object what may have secrets that are nobody's known value - those of environments, and what
// kubectl and others keep of a manifest - and cleans each of its texts.
func (r *redactor) object(value any) any {
	switch v := value.(type) {
	case string:
		return r.clean(v)
	case map[string]any:
		for key, inner := range v {
			list, isList := inner.([]any)
			if key == "managedFields" || key == "kubectl.kubernetes.io/last-applied-configuration" {
				delete(v, key)
				continue
			}
			if key == "env" && isList {
				for _, one := range list {
					quietVariable(one)
				}
			}
			if text, is := inner.(string); is && secretName.MatchString(key) && !harmless.MatchString(text) && text != "" {
				v[key] = unknownMark
				continue
			}
			if annotations, is := inner.(map[string]any); is && key == "annotations" {
				r.manifests(annotations)
			}
			v[key] = r.object(inner)
		}
	case []any:
		for i, inner := range v {
			if text, is := inner.(string); is && i > 0 && !strings.HasPrefix(text, "-") && option(v[i-1]) {
				v[i] = unknownMark
				continue
			}
			v[i] = r.object(inner)
		}
	}
	return value
}

// longestAnnotation is the length of an annotation, in bytes, beyond which it is no text for people: who applies
// manifests keeps them there, in forms of their own.
const longestAnnotation = 1 << 10

// manifests takes environments out of what other programs keep in annotations of the object that they applied: JSON is
// an object like others; what is compressed, or in another form, goes as a whole.
func (r *redactor) manifests(annotations map[string]any) {
	for key, inner := range annotations {
		text, _ := inner.(string)
		switch trimmed := strings.TrimSpace(text); {
		case strings.HasPrefix(trimmed, "{"), strings.HasPrefix(trimmed, "["):
			annotations[key] = r.manifest(trimmed)
		case strings.HasPrefix(trimmed, "H4sI"), // gzip in base64
			len(text) > longestAnnotation && !strings.HasPrefix(key, "geosql.dev/"):
			annotations[key] = unknownMark
		}
	}
}

// manifest is JSON without what is taken out of objects; nothing is left of what cannot be read.
func (r *redactor) manifest(text string) string {
	var value any
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if !json.Valid([]byte(text)) || decoder.Decode(&value) != nil {
		return unknownMark
	}
	var quiet strings.Builder
	encoder := json.NewEncoder(&quiet)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(r.object(value)) != nil {
		return unknownMark
	}
	return strings.TrimSuffix(quiet.String(), "\n")
}

// option tells that an argument names a secret, which is the next one then.
func option(argument any) bool {
	text, is := argument.(string)
	return is && (text == "-P" || strings.HasPrefix(text, "-") && secretName.MatchString(text))
}

func quietVariable(one any) {
	variable, ok := one.(map[string]any)
	if !ok {
		return
	}
	name, _ := variable["name"].(string)
	if _, given := variable["value"]; given && !safeEnv.MatchString(name) {
		variable["value"] = unknownMark
	}
}
