// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"
	"fmt"
	"strings"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/repl/tables"
)

// The metrics of Replication Monitor for transactional publications
// (docs/relational-databases/system-stored-procedures/sp-replmonitorchangepublicationthreshold-transact-sql.md).
var metrics = []struct {
	id    int64
	title string
	// value is the threshold of a new publication: percent of the retention period, or seconds.
	value int64
}{{expirationMetric, "expiration", 80}, {latencyMetric, "latency", 30}}

func (e *Extension) installThresholds(r *engine.Registry) {
	e.procedure(r, "sp_replmonitorhelppublicationthresholds", distributionOwners, nil, e.helpThresholds)
	e.procedure(r, "sp_replmonitorchangepublicationthreshold", distributionOwners, nil, e.changeThreshold)
}

// thresholdsOf makes the thresholds that a publication lacks, with the values of a new one.
func (e *Extension) thresholdsOf(ctx context.Context, call *engine.ProcCall) (publicationRow, error) {
	s := call.Session
	p, err := distributedPublication(
		ctx,
		s,
		call.String("@publisher"),
		call.String("@publisher_db"),
		call.String("@publication"),
	)
	if err != nil {
		return p, err
	}
	if t := call.Value("@publication_type"); t != nil && t != int64(0) {
		return p, raise(21023, 1, fmt.Sprintf("@publication_type = %v", t))
	}
	if err := tables.Make(ctx, s, call.Database.Name(), tables.Distribution); err != nil {
		return p, err
	}
	for _, m := range metrics {
		if err := s.Exec(ctx,
			"IF NOT EXISTS (SELECT 1 FROM dbo.MSpublicationthresholds WHERE publication_id = @p1 AND metric_id = @p2) INSERT "+
				"INTO dbo.MSpublicationthresholds VALUES (@p1, @p2, @p3, 0, 0)", p.id, m.id, m.value); err != nil {
			return p, err
		}
	}
	return p, nil
}

func (e *Extension) helpThresholds(ctx context.Context, call *engine.ProcCall) error {
	if err := inDistributionDatabase(call, "sp_replmonitorhelppublicationthresholds"); err != nil {
		return err
	}
	p, err := e.thresholdsOf(ctx, call)
	if err != nil {
		return err
	}
	return call.Exec(
		ctx,
		`SELECT t.metric_id, CAST(CASE t.metric_id WHEN 1 THEN N'expiration' ELSE N'latency' END AS sysname) AS title, t.value, t.shouldalert, t.isenabled
		FROM dbo.MSpublicationthresholds AS t WHERE t.publication_id = @p1 ORDER BY t.metric_id`,
		p.id,
	)
}

func (e *Extension) changeThreshold(ctx context.Context, call *engine.ProcCall) error {
	if err := inDistributionDatabase(call, "sp_replmonitorchangepublicationthreshold"); err != nil {
		return err
	}
	p, err := e.thresholdsOf(ctx, call)
	if err != nil {
		return err
	}
	id := int64(0)
	for _, m := range metrics {
		if !call.IsNull("@metric_id") && m.id == call.Int("@metric_id") ||
			call.IsNull("@metric_id") && strings.EqualFold(m.title, call.String("@thresholdmetricname")) {
			id = m.id
		}
	}
	if id == 0 {
		return raise(21055, 1, "@metric_id", "sp_replmonitorchangepublicationthreshold")
	}
	// @mode: 1 enables the metric, 2 disables it.
	enabled := call.Int("@mode") == 1
	if call.Int("@mode") != 1 && call.Int("@mode") != 2 {
		return raise(21055, 1, "@mode", "sp_replmonitorchangepublicationthreshold")
	}
	return call.Session.Exec(
		ctx,
		`UPDATE dbo.MSpublicationthresholds SET isenabled = @p3, value = CASE WHEN @p4 = 1 THEN @p5 ELSE value END, shouldalert = CASE WHEN @p6 = 1 THEN @p7 ELSE shouldalert END
		WHERE publication_id = @p1 AND metric_id = @p2`,
		p.id,
		id,
		enabled,
		!call.IsNull("@value"),
		call.Int("@value"),
		!call.IsNull("@shouldalert"),
		call.Bool("@shouldalert"),
	)
}
