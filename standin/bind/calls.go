// SPDX-License-Identifier: Apache-2.0

package bind

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/builtin"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/syntax"
)

// functionCall binds a call of a built-in, registered or user-defined function.
func (b *Binder) functionCall(sc *Scope, n *ast.FunctionCall) Expr {
	name := lower(n.FunctionName.Value)
	if name == syntax.CollateFunction {
		return b.wrapped(sc, n)
	}
	if t, ok := n.CallTarget.(*ast.MultiPartIdentifierCallTarget); ok {
		parts := Identifiers(t.MultiPartIdentifier)
		if e, ok := b.methodOfColumn(sc, parts, n); ok {
			return e
		}
		if full := b.namedFunction(parts, n.FunctionName.Value); full != "" {
			return b.builtin(full, b.scalars(sc, n.Parameters))
		}
		if len(parts) > 2 || !strings.EqualFold(parts[len(parts)-1], "sys") {
			return b.userFunction(sc, append(parts, n.FunctionName.Value), n.Parameters)
		}
	} else if t, ok := n.CallTarget.(*ast.ExpressionCallTarget); ok {
		return b.xmlMethod(sc, b.Receiver(b.Scalar(sc, t.Expression)), n)
	} else if n.CallTarget != nil {
		b.Refuse("The method " + n.FunctionName.Value + " of a value")
	}
	if a := aggregates[name]; a != nil {
		return b.aggregate(sc, n, name, a)
	}
	if n.OverClause != nil && !strings.HasPrefix(name, "percentile_") {
		return b.windowFunction(sc, n, name)
	}
	if e, special := b.specialCall(sc, n, name); special {
		return e
	}
	args := b.callArguments(sc, n, name)
	if name == "json_modify" && len(args) == 3 && args[2].json {
		name = "json_modify_raw"
	}
	e := b.builtin(name, args)
	e.json = name == "json_query" || name == "json_modify_raw" || name == "json_modify"
	if n.Collation != nil {
		e = b.collateClause(e, n.Collation.Value)
	}
	return e
}

// namedFunction is the full name of a function that comes with a system database, empty where there is none of the
// name.
func (b *Binder) namedFunction(parts []string, name string) string {
	database := b.session.Database()
	if len(parts) > 1 && parts[len(parts)-2] != "" {
		database = parts[len(parts)-2]
	}
	schema := parts[len(parts)-1]
	if schema == "" {
		schema = "dbo"
	}
	full := lower(database + "." + schema + "." + name)
	if b.session.Function(full) == nil {
		return ""
	}
	return full
}

// specialCall binds the functions that are not merely called with the values of their arguments.
func (b *Binder) specialCall(sc *Scope, n *ast.FunctionCall, name string) (e Expr, special bool) {
	switch name {
	case "dateadd", "datediff", "datediff_big", "datepart", "datename", "datetrunc", "date_bucket":
		return b.datePartCall(sc, name, n.Parameters), true
	case "isnull":
		return b.isNull(b.exactly(sc, name, n.Parameters, 2)), true
	case "trim":
		return b.trim(sc, n), true
	case "getdate", "getutcdate", "sysdatetime", "sysutcdatetime", "sysdatetimeoffset":
		b.exactly(sc, name, n.Parameters, 0)
		return b.now(name), true
	case "rand":
		return b.random(n.Parameters)
	case "choose":
		return b.choose(b.scalars(sc, n.Parameters)), true
	case "columns_updated":
		b.exactly(sc, name, n.Parameters, 0)
		return b.computed(
			name,
			sqltype.Type{Kind: sqltype.VarBinary, Length: 128},
			func(s Session) any { return s.ColumnsUpdated() },
		), true
	case "trigger_nestlevel":
		return b.computed(name, sqltype.IntType, func(s Session) any { return s.TriggerDepth() }), true
	case "row_number",
		"rank",
		"dense_rank",
		"ntile",
		"percent_rank",
		"cume_dist",
		"lag",
		"lead",
		"first_value",
		"last_value":
		b.Fail(10753, n.FunctionName.Value)
	case "grouping", "grouping_id":
		return b.groupingFunction(sc, name, n.Parameters), true
	case "json_object", "json_array":
		return b.jsonConstructor(sc, n, name), true
	case "percentile_cont", "percentile_disc":
		return b.percentile(sc, n, name), true
	case "update":
		b.Refuse("The function " + strings.ToUpper(name))
	}
	return Expr{}, false
}

// callArguments binds the arguments of a function that is called with their values.
func (b *Binder) callArguments(sc *Scope, n *ast.FunctionCall, name string) []Expr {
	if collationSensitive[name] {
		before := b.sensitive
		b.sensitive = name
		defer func() { b.sensitive = before }()
	}
	args := []Expr{}
	for _, p := range n.Parameters {
		if isStar(p) && (name == "checksum" || name == "binary_checksum") {
			for _, o := range b.star(sc, nil, false) {
				args = append(args, o.expr)
			}
			continue
		}
		args = append(args, b.Scalar(sc, p))
	}
	switch name {
	case "year", "month", "day":
		b.fits(name, args)
		if len(args) == 1 && args[0].Type.Kind.IsNumeric() && !args[0].Null {
			// Days from 1900 on (docs/t-sql/functions/month-transact-sql.md, Return Value).
			args[0] = b.Convert(args[0], sqltype.DateTimeType, sqltype.Implicit, 0, false)
		}
	}
	return args
}

// wrapped binds what syntax.Parse has put into syntax.CollateFunction.
func (b *Binder) wrapped(sc *Scope, n *ast.FunctionCall) Expr {
	if len(n.Parameters) > 1 {
		b.collated++
		defer func() { b.collated-- }()
	}
	e := b.Scalar(sc, n.Parameters[0])
	if len(n.Parameters) > 1 {
		b.collateOnce(e)
		if ref, ok := n.Parameters[1].(*ast.ColumnReferenceExpression); ok {
			words := strings.Fields(strings.Join(Identifiers(ref.MultiPartIdentifier), "."))
			e = b.collateClause(e, words[len(words)-1])
		}
	}
	e.name, e.column = "", nil
	return e
}

func (b *Binder) exactly(sc *Scope, name string, params []ast.ScalarExpression, count int) []Expr {
	if len(params) != count {
		b.Fail(174, name, count)
	}
	return b.scalars(sc, params)
}

// absentFunctions are documented functions of features that the stand-in does not have: they are refused by name
// (docs/t-sql/functions, docs/relational-databases/system-functions).
var absentFunctions = func() map[string]bool {
	out := map[string]bool{}
	for _, name := range strings.Fields(`assemblyproperty asymkey_id asymkeyproperty change_tracking_current_version change_tracking_is_column_in_mask change_tracking_min_valid_version
		decryptbyasymkey decryptbykey decryptbykeyautoasymkey decryptbykeyautocert decryptbycert decryptbypassphrase encryptbyasymkey encryptbycert encryptbykey encryptbypassphrase filetablerootpath get_filestream_transaction_context
		getfilenamespacepath getpathlocator key_guid key_id key_name signbyasymkey signbycert symkeyproperty tertiary_weights verifysignedbyasymkey verifysignedbycert get_transmission_status is_objectsigned textptr textvalid
		edge_id_from_parts graph_id_from_edge_id graph_id_from_node_id node_id_from_parts object_id_from_edge_id object_id_from_node_id predict
		fn_cdc_decrement_lsn fn_cdc_get_column_ordinal fn_cdc_get_max_lsn fn_cdc_get_min_lsn fn_cdc_has_column_changed fn_cdc_increment_lsn fn_cdc_is_bit_set fn_cdc_map_lsn_to_time fn_cdc_map_time_to_lsn
		fn_pagerescracker fn_stmt_sql_handle_from_sql_stmt`) {
		out[name] = true
	}
	return out
}()

// builtin binds a function that is evaluated in Go.
func (b *Binder) builtin(name string, args []Expr) Expr {
	f := b.session.Function(name)
	if f != nil && f.Builtin {
		b.countArguments(name, len(args), f.Min, f.Max)
		b.fits(name, args)
		for i := range args {
			if t, ok := parameterAt(f.Parameters, i); ok {
				args[i] = b.Convert(args[i], t, sqltype.Implicit, 0, false)
			} else if args[i].Null {
				args[i] = literal(sqltype.IntType, nil)
			}
		}
		types := make([]sqltype.Type, len(args))
		for i := range args {
			types[i] = args[i].Type
		}
		t := b.session.InCodePage(f.Type)
		if f.Infer != nil {
			t = f.Infer(types)
		}
		if t.Kind == sqltype.Unknown {
			b.Fail(8116, typeName(args, 0), 1, name)
		}
		if scaledByLast[name] {
			t = b.scaledBy(args[len(args)-1], t)
		}
		if comparesTexts[name] {
			b.collate(name, args[0], args[1])
		}
		return b.goCall(name, args, t, f.Pure)
	}
	if f == nil {
		if absentFunctions[name] {
			b.Refuse(strings.ToUpper(name))
		}
		b.FailWith(sqlerr.New(195, 10, name, "built-in function name"))
	}
	b.countArguments(name, len(args), f.Min, f.Max)
	types := make([]sqltype.Type, len(args))
	for i := range args {
		if t, ok := parameterAt(f.Parameters, i); ok {
			args[i] = b.Convert(args[i], t, sqltype.Implicit, 0, false)
		}
		types[i] = args[i].Type
	}
	t := b.session.InCodePage(f.Type)
	if f.Infer != nil {
		t = f.Infer(types)
	}
	return b.goCall(name, args, t, f.Pure)
}

// scaledByLast have the scale that their last argument says (docs/t-sql/functions/datetime2fromparts-transact-sql.md,
// Return types, and its kin).
var scaledByLast = map[string]bool{"datetime2fromparts": true, "timefromparts": true, "datetimeoffsetfromparts": true}

// scaledBy is t with the scale that a constant says; one that is computed from constants is judged when it is executed.
func (b *Binder) scaledBy(scale Expr, t sqltype.Type) sqltype.Type {
	n, ok := scale.Literal.(int64)
	if scale.HasLiteral && (!ok || n < 0 || n > 7) || scale.param > 0 || scale.column != nil || len(scale.Free) > 0 {
		b.Fail(10760, t.Kind)
	}
	if ok {
		t.Scale = uint8(n)
	}
	return t
}

// fits refuses arguments of types that a function does not take (8116), before anything of the batch is executed.
func (b *Binder) fits(name string, args []Expr) {
	kinds := make([]sqltype.Kind, len(args))
	for i, a := range args {
		if kinds[i] = a.Type.Kind; a.Null {
			kinds[i] = sqltype.Unknown
		}
	}
	at := builtin.Misfit(name, kinds)
	if at == 0 {
		return
	}
	shown := "NULL"
	if kinds[at-1] != sqltype.Unknown {
		shown = kinds[at-1].String()
	}
	called := builtin.Called[name]
	if called == "" {
		called = name
	}
	b.Fail(8116, shown, at, called)
}

func typeName(args []Expr, i int) string {
	if i < len(args) {
		return args[i].Type.Kind.String()
	}
	return "NULL"
}

func parameterAt(params []sqltype.Type, i int) (sqltype.Type, bool) {
	if len(params) == 0 {
		return sqltype.Type{}, false
	}
	if i >= len(params) {
		i = len(params) - 1
	}
	return params[i], params[i].Kind != sqltype.Unknown
}

func (b *Binder) countArguments(name string, n, lo, hi int) {
	if n >= lo && (hi < 0 || n <= hi) {
		return
	}
	if lo == hi {
		b.Fail(174, name, lo)
	}
	if hi < 0 {
		hi = 254
	}
	b.Fail(189, name, lo, hi)
}

// goCall is the SQL of a call of a Go function.
func (b *Binder) goCall(name string, args []Expr, t sqltype.Type, pure bool) Expr {
	types := make([]sqltype.Type, len(args))
	parts := make([]string, len(args))
	out := Expr{Type: t, Nullable: true}
	for i, a := range args {
		types[i], parts[i] = a.Type, a.SQL
	}
	f := "tsql_call"
	if pure {
		f = "tsql_pure"
	}
	b.Varies = b.Varies || !pure || name == "format" || name == "datename"
	b.Rough = b.Rough || t.Kind.IsApproximate()
	signature := makeSignature(name, types, t)
	if c := commonCollation(args); c != "" && c != sqltype.DefaultCollationKey {
		signature += ";" + c
	}
	out.SQL = f + "('" + strings.ReplaceAll(signature, "'", "''") + "'"
	if len(parts) > 0 {
		out.SQL += "," + strings.Join(parts, ",")
	}
	out.SQL += ")"
	if t.Kind.IsCharacter() {
		out.collation = "tsql_ci_as"
		if len(args) > 0 && args[0].collation != "" {
			out.collation, out.CollationName, out.implicit, out.explicit = args[0].collation, args[0].CollationName,
				args[0].implicit, args[0].explicit
		}
	}
	return merge(out, args...)
}

// commonCollation is the collation of a function's arguments: that of a COLLATE clause, else that of a column.
func commonCollation(args []Expr) string {
	found := ""
	for _, a := range args {
		switch {
		case a.collation == "" || !a.Type.Kind.IsCharacter():
		case a.explicit:
			return a.collation
		case a.implicit && found == "":
			found = a.collation
		}
	}
	return found
}

func (b *Binder) isNull(args []Expr) Expr {
	x, y := args[0], args[1]
	if x.Null {
		return y
	}
	y = b.Convert(y, x.Type, sqltype.Implicit, 0, false)
	out := Expr{SQL: "ifnull(" + x.SQL + "," + y.SQL + ")", Type: x.Type, Nullable: x.Nullable && y.Nullable}
	out.collation, out.CollationName, out.implicit = x.collation, x.CollationName, x.implicit
	return merge(out, x, y)
}

func (b *Binder) choose(args []Expr) Expr {
	if len(args) < 2 {
		b.Fail(189, "choose", 2, 254)
	}
	index := b.Convert(args[0], sqltype.IntType, sqltype.Implicit, 0, false)
	conditions := make([]Expr, len(args)-1)
	for i := range conditions {
		conditions[i] = merge(Expr{SQL: fmt.Sprintf("(%s = %d)", index.SQL, i+1)}, index)
	}
	return b.cases(conditions, args[1:], Expr{SQL: "NULL", Null: true, Nullable: true})
}

func (b *Binder) trim(sc *Scope, n *ast.FunctionCall) Expr {
	args := b.scalars(sc, n.Parameters)
	if len(args) == 2 {
		args[0], args[1] = args[1], args[0] // TRIM(characters FROM string)
	}
	if n.TrimOptions != nil && !strings.EqualFold(n.TrimOptions.Value, "both") {
		return b.builtin(strings.ToLower(n.TrimOptions.Value)+"_trim", args)
	}
	return b.builtin("trim", args)
}

// datePartCall binds the functions whose first argument is the name of a part of a date.
func (b *Binder) datePartCall(sc *Scope, name string, params []ast.ScalarExpression) Expr {
	want := map[string]int{"dateadd": 3, "datediff": 3, "datediff_big": 3, "datepart": 2, "datename": 2, "datetrunc": 2,
		"date_bucket": 3}[name]
	if name == "date_bucket" {
		return b.dateBucket(sc, params)
	}
	if len(params) != want {
		b.Fail(174, name, want)
	}
	part := b.datePart(name, params[0])
	b.Varies = b.Varies || part == "weekday" || part == "week" // SET DATEFIRST
	first := literal(sqltype.VarCharMax, part)
	args := b.scalars(sc, params[1:])
	b.fits(name, append([]Expr{{}}, args...))
	b.hasPart(name, part, args[len(args)-1])
	for i := range args {
		if args[i].Type.Kind.IsCharacter() && !(name == "dateadd" && i == 0) || args[i].Null {
			t := sqltype.DateTime2Type
			if name == "dateadd" {
				t = sqltype.DateTimeType
				if i == 0 {
					t = sqltype.IntType
				}
			}
			args[i] = b.Convert(args[i], t, sqltype.Implicit, 0, false)
		}
	}
	t := sqltype.IntType
	switch name {
	case "dateadd":
		args[0] = b.Convert(args[0], sqltype.IntType, sqltype.Explicit, 0, false)
		t = args[1].Type
	case "datediff_big":
		t = sqltype.BigIntType
	case "datename":
		t = sqltype.NVarCharOf(30)
	case "datetrunc":
		t = args[0].Type
	}
	for i, a := range args {
		if name == "dateadd" && i == 0 {
			continue
		}
		if !a.Type.Kind.IsTemporal() {
			args[i] = b.Convert(a, sqltype.DateTimeType, sqltype.Implicit, 0, false)
			if name == "dateadd" {
				t = sqltype.DateTimeType
			}
		}
	}
	return b.goCall(name, append([]Expr{first}, args...), t, true)
}

// hasPart refuses parts that values of a type do not have (9810); a constant text is of whatever type has the part.
func (b *Binder) hasPart(name, part string, date Expr) {
	if date.Null || builtin.HasPart(name, part, date.Type) {
		return
	}
	state := uint8(1)
	if name == "datetrunc" {
		state = 10
	}
	kind := date.Type.Kind
	if kind.IsCharacter() || kind.IsNumeric() {
		kind = sqltype.DateTime
	}
	b.FailWith(sqlerr.New(9810, state, part, name, kind))
}

// datePart is the part of a date that an argument names.
func (b *Binder) datePart(name string, node ast.ScalarExpression) string {
	word := ""
	switch p := node.(type) {
	case *ast.ColumnReferenceExpression:
		if parts := Identifiers(p.MultiPartIdentifier); len(parts) == 1 {
			word = lower(parts[0])
		}
	case *ast.IdentifierLiteral:
		word = lower(p.Value)
	}
	part, ok := builtin.DateParts[word]
	switch {
	case ok:
	case word != "":
		b.Fail(155, word, name)
	default:
		b.Fail(1023, 1, name)
	}
	return part
}

// now binds the functions that give the time; it is the same for a whole statement.
func (b *Binder) now(name string) Expr {
	t := clockTypes[name]
	e := b.computed(name, t, func(s Session) any { return s.Clock(t) })
	e.Nullable = false
	return e
}

// random binds RAND without a seed, and with a constant: one number for all rows of a statement, another for each call
// in its text, in their order.
func (b *Binder) random(arguments []ast.ScalarExpression) (e Expr, special bool) {
	if b.Kept || len(arguments) > 1 {
		return Expr{}, false
	}
	next := func(s Session) any { return s.Random().Next() }
	if len(arguments) == 1 {
		constant, ok := arguments[0].(*ast.IntegerLiteral)
		if !ok {
			return Expr{}, false
		}
		seed, err := strconv.ParseInt(constant.Value, 10, 32)
		if err != nil {
			return Expr{}, false
		}
		next = func(s Session) any {
			s.Random().Seed(seed)
			return s.Random().Next()
		}
	}
	b.randoms++
	return b.computed(fmt.Sprintf("rand %d", b.randoms), sqltype.FloatType, next), true
}

// momentaryValue binds what is the same for all rows of a statement where a condition is kept for all statements to
// come, as that of a CHECK constraint is: it has no parameters, and asks the session that executes.
func (b *Binder) momentaryValue(key string, t sqltype.Type) Expr {
	e := Expr{SQL: "tsql_value(" + sqltype.StoredLiteral(key) + ")", Type: t, Nullable: true}
	if t.Kind.IsCharacter() {
		e.collation = sqltype.DefaultCollationKey
	}
	return e
}

// Momentary are the values that such a condition may ask for.
func Momentary(key string) (sqltype.Type, func(Session) any) {
	if t, ok := clockTypes[key]; ok {
		return t, func(s Session) any { return s.Clock(t) }
	}
	switch key {
	case "user_name()":
		return sqltype.Sysname, func(s Session) any { return s.UserName() }
	case "suser_sname()":
		return sqltype.Sysname, func(s Session) any { return s.LoginName() }
	}
	return sqltype.Type{}, nil
}

// clockTypes are the types of the functions that give the time.
var clockTypes = map[string]sqltype.Type{"getdate": sqltype.DateTimeType, "getutcdate": sqltype.DateTimeType,
	"sysdatetime": sqltype.DateTime2Type, "sysutcdatetime": sqltype.DateTime2Type,
	"sysdatetimeoffset": {Kind: sqltype.DateTimeOffset, Scale: 7}}

func makeSignature(name string, types []sqltype.Type, result sqltype.Type) string {
	var b strings.Builder
	b.WriteString(lower(name))
	b.WriteByte(';')
	for i, t := range types {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.FormatInt(sqltype.Pack(t), 10))
	}
	b.WriteByte(';')
	b.WriteString(strconv.FormatInt(sqltype.Pack(result), 10))
	return b.String()
}

// TryMode is added to a sqltype.Mode for TRY_CAST and TRY_CONVERT.
const TryMode = 4
