// SPDX-License-Identifier: Apache-2.0

package article

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/repl/stored"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/syntax"
)

// Kinds of articles (sysarticles.type).
const (
	Table = 1
	// Execution and Serializable bring calls as well as the definition (execution.go).
	Execution     = 8
	Serializable  = 24
	procedureKind = 32
	viewKind      = 64
	functionKind  = 128
)

// ModuleKind is what one of sp_addarticle's types for definitions takes.
type ModuleKind struct {
	Kind int64
	// word is how statements call the object, objects the kinds of sys.objects.type, wrong the error of any other object.
	Word    string
	Objects string
	wrong   int32
	// options are the valid bits of schema_option, invalid is the error of others (21222, 21229 list them).
	options uint64
	invalid int32
}

const (
	procedureOptions = 0x01 | 0x20 | 0x1000 | 0x2000 | 0x400000 | 0x2000000 | 0x8000000 | 0x10000000 |
		0x20000000 | 0x40000000 | 0x80000000
	viewOptions = 0x01 | 0x10 | 0x20 | 0x40 | 0x100 | 0x1000 | 0x2000 | 0x40000 | 0x100000 |
		0x200000 | 0x400000 | 0x800000 | 0x1000000 | 0x8000000 | 0x40000000 | 0x80000000
)

// ModuleKinds are the kinds of articles that are definitions, by their names in sp_addarticle.
var ModuleKinds = map[string]ModuleKind{
	"proc schema only":       {procedureKind, "procedure", " P ", 21219, procedureOptions, 21222},
	"proc exec":              {Execution, "procedure", " P ", 21219, procedureOptions, 21222},
	"serializable proc exec": {Serializable, "procedure", " P ", 21219, procedureOptions, 21222},
	"view schema only":       {viewKind, "view", " V ", 21221, viewOptions, 21229},
	"func schema only":       {functionKind, "function", " FN IF TF ", 21228, procedureOptions, 21222},
}

// IsModule tells whether the article is a definition, which has no rows.
func (a *Article) IsModule() bool { return a.Kind != Table }

// KindOfModule is what the article's type takes.
func (a *Article) KindOfModule() ModuleKind {
	for _, k := range ModuleKinds {
		if k.Kind == a.Kind {
			return k
		}
	}
	return ModuleKind{}
}

// TablesOnly is 14112 for an article that has no rows.
func (a *Article) TablesOnly() error {
	if a.IsModule() {
		return sqlerr.Raise(14112, 1)
	}
	return nil
}

// OfModule fills in what only the article of a view, procedure or function has.
func (a *Article) OfModule(call *engine.ProcCall, k ModuleKind) (err error) {
	if !strings.Contains(k.Objects, " "+a.Table.Kind+" ") {
		return sqlerr.Raise(k.wrong, 1)
	}
	for _, parameter := range []string{"@filter_clause", "@ins_cmd", "@upd_cmd", "@del_cmd"} {
		if v := call.String(parameter); v != "" && !strings.EqualFold(v, "NULL") && call.Given(parameter) {
			return sqlerr.Raise(21224, 1, strings.TrimPrefix(parameter, "@"))
		}
	}
	if strings.EqualFold(strings.TrimSpace(call.String("@vertical_partition")), "true") {
		return sqlerr.Raise(21224, 1, "vertical_partition")
	}
	var given bool
	if a.Options, given = SchemaOption(call.Bytes("@schema_option")); !given {
		a.Options = OptionScript
	}
	if err := k.CheckOptions(a.Options); err != nil || !a.IsExecution() {
		return err
	}
	return Repeatable(a.Table)
}

// CheckOptions checks the schema options of a definition: 21218, 21222, 21229.
func (k ModuleKind) CheckOptions(options uint64) error {
	if options == 0 {
		return sqlerr.Raise(21218, 1)
	}
	if options&^k.options != 0 {
		return sqlerr.Raise(k.invalid, 1)
	}
	return nil
}

// Definition is a snapshot's script of the article: empty when the schema options say that there is none.
func (a *Article) Definition() (string, error) {
	if a.Options&OptionScript == 0 {
		return "", nil
	}
	create, err := engine.CreateAs(a.Table, a.Destination())
	if err != nil {
		return "", err
	}
	script := a.CreateSchema()
	switch {
	case a.PreCreation == 1:
		return script + fmt.Sprintf(
			"DROP %s IF EXISTS %s\nGO\n%s\nGO\n",
			strings.ToUpper(a.KindOfModule().Word),
			a.Destination(),
			create,
		), nil
	default:
		// What is there already stays as it is.
		return script + fmt.Sprintf("IF OBJECT_ID(%s) IS NULL EXEC (%s)\nGO\n", stored.Literal(a.Destination()),
			stored.Literal(create)), nil
	}
}

// CreateSchema makes the schema of the subscriber's object.
func (a *Article) CreateSchema() string {
	if strings.EqualFold(a.DestOwner, "dbo") {
		return ""
	}
	return fmt.Sprintf(
		"IF SCHEMA_ID(%s) IS NULL EXEC (%s)\nGO\n",
		stored.Literal(a.DestOwner),
		stored.Literal("CREATE SCHEMA "+syntax.QuoteName(a.DestOwner)),
	)
}

// Needs tells whether an article's script names another one's object. A table needs functions only.
func (a *Article) Needs(b *Article, script string) bool {
	if a == b || !a.IsModule() && b.Kind != functionKind {
		return false
	}
	return namesWord(script, b.Table.Name)
}

// namesWord tells whether a text has a name that is not a part of a longer one.
func namesWord(text, name string) bool {
	text, name = strings.ToLower(text), strings.ToLower(name)
	inName := func(r rune) bool {
		return r == '_' || r == '@' || r == '#' || r == '$' || unicode.IsLetter(r) || unicode.IsDigit(r)
	}
	for from := 0; ; {
		at := strings.Index(text[from:], name)
		if at < 0 {
			return false
		}
		at += from
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		after, _ := utf8.DecodeRuneInString(text[at+len(name):])
		if !inName(before) && !inName(after) {
			return true
		}
		from = at + len(name)
	}
}
