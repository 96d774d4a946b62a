// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"fmt"
	"strings"

	"geosql.dev/standin/sqlerr"
)

// concerned tells whether a validation is for this subscription: names is empty, or has subscribers and databases in
// turn.
func (d *delivery) concerned(names []any) bool {
	for i := 0; i+1 < len(names); i += 2 {
		subscriber, _ := names[i].(string)
		database, _ := names[i+1].(string)
		if SameServer(subscriber, d.args.str("-Subscriber")) && strings.EqualFold(database, d.args.str("-SubscriberDB")) {
			return true
		}
	}
	return len(names) == 0
}

// validate runs a validation at the subscriber, between what was committed before it at the publisher and what came
// after.
func (w *writer) validate(ctx context.Context, article int64, text string) error {
	rest, isCall := strings.CutPrefix(text, "EXEC sp_table_validation ")
	if !isCall {
		return fmt.Errorf("the command of transaction 0x%x is not a validation", w.last)
	}
	found, err := w.to.Query(
		ctx,
		"DECLARE @failed int; EXEC @failed = sp_table_validation "+rest+"; SELECT @failed AS failed",
	)
	if err != nil {
		return fmt.Errorf("validate the data at transaction 0x%x: %w", w.last, err)
	}
	for _, a := range w.d.articles {
		if a.id == article {
			w.validated = append(w.validated, outcome{article: a.name, failed: found.num(0, "failed") != 0})
		}
	}
	w.stop = w.stop || strings.Contains(rest, "@shutdown_agent = 1")
	return nil
}

// outcome is what a validation found.
type outcome struct {
	article string
	failed  bool
}

// noteValidations puts into the history what validations found; what failed is an error, too, but not one of the agent.
func (d *delivery) noteValidations(ctx context.Context, list []outcome) error {
	for _, o := range list {
		number := int32(20575)
		if o.failed {
			number = 20574
		}
		message := sqlerr.Text(number, d.args.str("-Subscriber"), o.article, d.args.str("-Publication"))
		if err := d.noteLasting(ctx, message); err != nil {
			return err
		}
		if !o.failed {
			continue
		}
		if err := d.addError(ctx, number, message, nil); err != nil {
			return err
		}
	}
	return nil
}
