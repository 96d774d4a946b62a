// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
)

// validations are what the distribution history says of validations, newest last.
func (r *replication) validations() string {
	rows, err := tryQuery(
		r.distDB,
		`SELECT comments FROM distribution.dbo.MSdistribution_history WHERE comments LIKE N'%data validation.' ORDER BY timestamp`,
	)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(rows)
}

// A validation compares at its place in the order of commits: it passes while others write, and fails on a subscriber
// that has another row, an altered one, or one fewer.
func TestValidation(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newReplication(t)
	r.distribute(t)
	r.publish(t)
	r.pull(t)
	r.snapshot(t)
	r.bothSame(t)
	passed := func(article string) string {
		return fmt.Sprintf(
			"Subscriber 'SUB' subscription to article '%s' in publication 'web' passed data validation.",
			article,
		)
	}
	failed := func(article string) string {
		return fmt.Sprintf(
			"Subscriber 'SUB' subscription to article '%s' in publication 'web' failed data validation.",
			article,
		)
	}
	var expected string
	judged := func(outcomes ...string) {
		t.Helper()
		for _, o := range outcomes {
			expected += fmt.Sprintf(" [%s]", o)
		}
		g.Eventually(r.validations).WithTimeout(deliverWithin).Should(Equal("[" + expected[1:] + "]"))
	}

	// Others write before and after the validation.
	stop, stopped := make(chan struct{}), make(chan error, 1)
	go func() {
		var err error
		for n := 100; err == nil; n++ {
			select {
			case <-stop:
				stopped <- nil
				return
			default:
				_, err = r.source.Exec(
					`INSERT INTO dbo.orders VALUES (@p1, N'some', 1, NULL, NULL); UPDATE dbo.orders SET amount = amount + 1 WHERE id = 1`,
					n,
				)
			}
		}
		stopped <- err
	}()
	mustExec(t, r.source, `EXEC sp_publication_validation @publication = N'web', @rowcount_only = 2, @full_or_fast = 0`)
	judged(passed("orders"), passed("pictures"))
	close(stop)
	g.Expect(<-stopped).To(Succeed())
	r.bothSame(t)

	mustExec(t, r.target, `UPDATE dbo.orders SET customer = N'nobody' WHERE id = 2`)
	mustExec(t, r.source, `EXEC sp_article_validation @publication = N'web', @article = N'orders'`)
	judged(passed("orders"))
	mustExec(t, r.source, `EXEC sp_article_validation @publication = N'web', @article = N'orders', @rowcount_only = 2`)
	judged(failed("orders"))
	mustExec(t, r.target, `DELETE FROM dbo.pictures WHERE code = 'a'`)
	mustExec(t, r.source, `EXEC sp_publication_validation @publication = N'web'`)
	judged(passed("orders"), failed("pictures"))
	// The error is written after the history.
	g.Eventually(func() ([][]any, error) {
		return tryQuery(
			r.distDB,
			`SELECT error_code, error_text FROM distribution.dbo.MSrepl_errors WHERE error_code = '20574' ORDER BY id`,
		)
	}).WithTimeout(deliverWithin).Should(Equal([][]any{{"20574", failed("orders")}, {"20574", failed("pictures")}}))

	// The agent goes on, unless it was asked to end: then it says so and the schedule starts it again.
	mustExec(t, r.source, `EXEC sp_article_validation @publication = N'web', @article = N'orders', @shutdown_agent = 1`)
	judged(passed("orders"))
	g.Eventually(func() any {
		return scalar(r.distDB, `SELECT COUNT(*) FROM distribution.dbo.MSdistribution_history WHERE runstatus = 2`)
	}).WithTimeout(deliverWithin).Should(BeEquivalentTo(1))

	g.Expect(failure(t, r.source,
		`EXEC sp_article_validation @publication = N'web', @article = N'orders', @rowcount_only = 3`).Number).
		To(Equal(int32(21117)))
	g.Expect(failure(t, r.source, `EXEC sp_article_validation @publication = N'web', @article = N'none'`).Number).
		NotTo(BeZero())
	g.Expect(query(t, r.source,
		`DECLARE @n bigint, @sum bigint; EXEC sp_table_validation @table = N'pictures', @expected_rowcount = @n OUTPUT, @expected_checksum = @sum OUTPUT, @rowcount_only = 2; SELECT @n, CASE WHEN @sum <> 0 THEN 1 ELSE 0 END`)).
		To(Equal([][]any{{int64(2), int64(1)}}))
	g.Expect(query(t, r.target,
		`DECLARE @r int; EXEC @r = sp_table_validation @table = N'pictures', @expected_rowcount = 2; SELECT @r`)).
		To(Equal([][]any{{int64(1)}}))
}

// What a validation found before an error is known, with one stream and with several: the next run of the agent begins
// after it, and judges it no more.
func TestValidationBeforeAnError(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newReplication(t)
	r.distribute(t)
	r.publish(t)
	r.push(t)
	r.snapshot(t)
	r.bothSame(t)
	r.stopDistribution(t)
	mustExec(t, r.target, `DELETE FROM dbo.pictures`)
	expected := ""
	for n, streams := range []string{"", "-SubscriptionStreams 4"} {
		mustExec(t, r.source, `EXEC sp_article_validation @publication = N'web', @article = N'pictures'`)
		for i := range 30 {
			mustExec(t, r.source, `INSERT INTO dbo.orders VALUES (@p1, N'some', 1, NULL, NULL)`, 1000*(n+1)+i)
		}
		code := fmt.Sprintf("twice %d", n)
		mustExec(t, r.target, `INSERT INTO dbo.pictures VALUES (@p1, 1, NULL)`, code)
		mustExec(t, r.source, `INSERT INTO dbo.pictures VALUES (@p1, 1, NULL)`, code)
		g.Eventually(r.undelivered).WithTimeout(deliverWithin).Should(BeEquivalentTo(0))
		mustExec(
			t,
			r.distDB,
			`EXEC msdb.dbo.sp_update_jobstep @job_name = N'distribution', @step_id = 1, @command = @p1`,
			distributionCommand(0, "-CommitBatchSize 1 "+streams),
		)
		mustExec(t, r.distDB, `EXEC msdb.dbo.sp_start_job @job_name = N'distribution'`)
		g.Eventually(func() ([][]any, error) {
			return tryQuery(
				r.distDB,
				`SELECT TOP (1) 1 FROM distribution.dbo.MSrepl_errors WHERE error_text LIKE @p1`,
				"%"+code+"%",
			)
		}).WithTimeout(deliverWithin).ShouldNot(BeEmpty())
		expected += " [Subscriber 'SUB' subscription to article 'pictures' in publication 'web' failed data validation.]"
		g.Expect(r.validations()).To(Equal("["+expected[1:]+"]"), streams)
		mustExec(t, r.target, `DELETE FROM dbo.pictures WHERE code = @p1`, code)
		g.Eventually(func() any { return scalar(r.target, `SELECT COUNT(*) FROM dbo.pictures WHERE code = @p1`, code) }).
			WithTimeout(deliverWithin).
			Should(BeEquivalentTo(1))
		r.stopDistribution(t)
	}
}
