// SPDX-License-Identifier: Apache-2.0

package sqlagent

import (
	"context"
	"slices"
	"strings"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/sqlerr"
)

var (
	// categoryClasses and categoryTypes are in the order of their numbers in syscategories, from 1
	// (docs/relational-databases/system-tables/dbo-syscategories-transact-sql.md).
	categoryClasses = []string{"JOB", "ALERT", "OPERATOR"}
	categoryTypes   = []string{"LOCAL", "MULTI-SERVER", "NONE"}
)

// firstOwnCategory is the lowest number of a category that is not the installation's.
const firstOwnCategory = 100

// installCategories registers the procedures of categories (docs/relational-databases/system-stored-procedures:
// sp-add-category-transact-sql.md, sp-help-category-transact-sql.md, sp-update-category-transact-sql.md,
// sp-delete-category-transact-sql.md).
func (e *Extension) installCategories(r *engine.Registry) {
	e.procedure(
		r,
		"sp_add_category",
		engine.ParameterList("@class varchar(8) = JOB, @type varchar(12) = LOCAL, @name! nvarchar(128)"),
		e.addCategory,
	)
	e.procedure(
		r,
		"sp_help_category",
		engine.ParameterList("@class varchar(8) = JOB, @type varchar(12), @name nvarchar(128), @suffix bit = 0"),
		e.helpCategory,
	)
	e.procedure(
		r,
		"sp_update_category",
		engine.ParameterList("@class! varchar(8), @name! nvarchar(128), @new_name! nvarchar(128)"),
		e.updateCategory,
	)
	e.procedure(
		r,
		"sp_delete_category",
		engine.ParameterList("@class! varchar(8), @name! nvarchar(128)"),
		e.deleteCategory,
	)
}

// oneOf is the number of a parameter's word, from 1: 14266 for another word.
func oneOf(call *engine.ProcCall, parameter string, words []string) (int, error) {
	n := slices.Index(words, strings.ToUpper(strings.TrimSpace(call.String(parameter)))) + 1
	if n == 0 {
		return 0, sqlerr.New(14266, 1, parameter, strings.Join(words, ", "))
	}
	return n, nil
}

// namedCategory is the class and the number of the category that @class and @name name, 0 where there is none.
func namedCategory(
	ctx context.Context,
	call *engine.ProcCall,
	name string,
) (class int, id int64, found bool, err error) {
	class, err = oneOf(call, "@class", categoryClasses)
	if err != nil {
		return 0, 0, false, err
	}
	r, err := call.Session.Query(
		ctx,
		"SELECT category_id FROM msdb.dbo.syscategories WHERE category_class = @p1 AND name = @p2",
		class,
		name,
	)
	if err != nil || r.Len() == 0 {
		return class, 0, false, err
	}
	return class, r.Int(0, "category_id"), true, nil
}

func (e *Extension) addCategory(ctx context.Context, call *engine.ProcCall) error {
	name := strings.TrimSpace(call.String("@name"))
	class, _, found, err := namedCategory(ctx, call, name)
	if err != nil {
		return err
	}
	kind, err := oneOf(call, "@type", categoryTypes)
	if err != nil {
		return err
	}
	if isJob := class == 1; isJob != (kind < 3) {
		return sqlerr.New(14266, 1, "@type", map[bool]string{true: "LOCAL, MULTI-SERVER", false: "NONE"}[isJob])
	}
	if name == "" {
		return sqlerr.New(14234, 1, "@name", "sp_help_category")
	}
	if found {
		return sqlerr.New(14261, 1, "@name", name)
	}
	return call.Session.Exec(
		ctx,
		`INSERT INTO msdb.dbo.syscategories SELECT IIF(MAX(category_id) < @p4, @p4, MAX(category_id) + 1), @p1, @p2, @p3 FROM msdb.dbo.syscategories`,
		class,
		kind,
		name,
		int64(firstOwnCategory),
	)
}

func (e *Extension) helpCategory(ctx context.Context, call *engine.ProcCall) error {
	class, err := oneOf(call, "@class", categoryClasses)
	if err != nil {
		return err
	}
	shown, args := "category_type", []any{class, call.Value("@name")}
	if call.Bool("@suffix") {
		shown = "CAST(CASE category_type WHEN 1 THEN N'LOCAL' WHEN 2 THEN N'MULTI-SERVER' ELSE N'NONE' END AS " +
			"nvarchar(128)) AS category_type"
	}
	text := "SELECT category_id, " + shown +
		", name FROM msdb.dbo.syscategories WHERE category_class = @p1 AND (@p2 IS NULL OR name = @p2)"
	if !call.IsNull("@type") {
		kind, err := oneOf(call, "@type", categoryTypes)
		if err != nil {
			return err
		}
		text, args = text+" AND category_type = @p3", append(args, kind)
	}
	return call.Exec(ctx, text+" ORDER BY category_type, name", args...)
}

func (e *Extension) updateCategory(ctx context.Context, call *engine.ProcCall) error {
	_, id, found, err := namedCategory(ctx, call, call.String("@name"))
	if err != nil {
		return err
	}
	if !found {
		return sqlerr.New(14262, 1, "@name", call.String("@name"))
	}
	name := strings.TrimSpace(call.String("@new_name"))
	if _, _, taken, err := namedCategory(ctx, call, name); err != nil {
		return err
	} else if taken {
		return sqlerr.New(14261, 1, "@new_name", name)
	}
	if id < firstOwnCategory {
		return sqlerr.New(14276, 1, call.String("@name"), strings.ToUpper(call.String("@class")))
	}
	return call.Session.Exec(ctx, "UPDATE msdb.dbo.syscategories SET name = @p1 WHERE category_id = @p2", name, id)
}

func (e *Extension) deleteCategory(ctx context.Context, call *engine.ProcCall) error {
	_, id, found, err := namedCategory(ctx, call, call.String("@name"))
	if err != nil {
		return err
	}
	if !found {
		return sqlerr.New(14262, 1, "@name", call.String("@name"))
	}
	if id < firstOwnCategory {
		return sqlerr.New(14276, 1, call.String("@name"), strings.ToUpper(call.String("@class")))
	}
	// The jobs of a category that goes are of the default one of its class, and of its type.
	return call.Session.Exec(ctx, `BEGIN TRANSACTION;
		UPDATE msdb.dbo.sysjobs SET category_id = (SELECT IIF(category_type = 2, 2, 0) FROM msdb.dbo.syscategories WHERE category_id = @p1) WHERE category_id = @p1;
		DELETE FROM msdb.dbo.syscategories WHERE category_id = @p1; COMMIT TRANSACTION`, id)
}
