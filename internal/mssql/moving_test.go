// SPDX-License-Identifier: Apache-2.0

package mssql_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/mssql"
)

// What moves is not cut off, however long it lasts; what stands still is.
func TestWhatMovesGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, begun := NewWithT(t), time.Now()
		moves := func(context.Context) string {
			return fmt.Sprint(min(time.Since(begun), 72*time.Hour).Truncate(time.Hour))
		}
		ctx, end := mssql.WhileMoving(t.Context(), 24*time.Hour, moves)
		defer end()
		within, cancel := context.WithCancel(ctx)
		defer cancel()
		time.Sleep(95 * time.Hour)
		g.Expect(within.Err()).NotTo(HaveOccurred())
		deadline, has := ctx.Deadline()
		g.Expect(has).To(BeTrue())
		g.Expect(deadline).To(BeTemporally("~", begun.Add(96*time.Hour), time.Minute))
		<-within.Done()
		g.Expect(time.Since(begun)).To(BeNumerically("~", 96*time.Hour, time.Minute))
		g.Expect(ctx.Err()).To(Equal(context.DeadlineExceeded))
		g.Expect(within.Err()).To(Equal(context.DeadlineExceeded))
	})
}

func TestWhatMovesEndsWithItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, begun := NewWithT(t), time.Now()
		caller, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		hangs := func(ctx context.Context) string { <-ctx.Done(); return "" }
		ctx, end := mssql.WhileMoving(caller, time.Hour, hangs)
		<-ctx.Done()
		g.Expect(time.Since(begun)).To(Equal(time.Minute))
		g.Expect(ctx.Err()).To(Equal(context.DeadlineExceeded))
		end()
		ctx, end = mssql.WhileMoving(t.Context(), time.Hour, hangs)
		<-ctx.Done()
		g.Expect(time.Since(begun)).To(BeNumerically("~", 61*time.Minute, time.Minute), "what is not answered moves nothing")
		end()
		ctx, end = mssql.WhileMoving(t.Context(), time.Hour, hangs)
		end()
		<-ctx.Done()
		g.Expect(ctx.Err()).To(Equal(context.Canceled))
	})
}
