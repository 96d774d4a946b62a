// SPDX-License-Identifier: Apache-2.0

package syntax

import "strconv"

// storeNumbers are the parts of QUERY_STORE that are numbers, and storeWords those that are words
// (docs/t-sql/statements/alter-database-transact-sql-set-options.md, query_store_options).
var (
	storeNumbers = []string{
		"DATA_FLUSH_INTERVAL_SECONDS",
		"MAX_STORAGE_SIZE_MB",
		"INTERVAL_LENGTH_MINUTES",
		"MAX_PLANS_PER_QUERY",
	}
	storeWords = map[string][]string{
		"OPERATION_MODE":          {"READ_WRITE", "READ_ONLY"},
		"SIZE_BASED_CLEANUP_MODE": {"AUTO", "OFF"},
		"QUERY_CAPTURE_MODE":      {"ALL", "AUTO", "CUSTOM", "NONE"},
		"WAIT_STATS_CAPTURE_MODE": {"ON", "OFF"},
	}
	policyNumbers = []string{"EXECUTION_COUNT", "TOTAL_COMPILE_CPU_TIME_MS", "TOTAL_EXECUTION_CPU_TIME_MS"}
)

// queryStore parses what follows QUERY_STORE: the option's value is ON, OFF, CLEAR or, where the list alone is given,
// empty.
func (p *parser) queryStore() DatabaseOption {
	o := DatabaseOption{Name: "QUERY_STORE"}
	switch {
	case p.accept("CLEAR"):
		o.Value = "CLEAR"
		p.accept("ALL")
		return o
	case p.accept("="):
		o.Value = p.oneOf("ON", "OFF")
		if o.Value == "OFF" && p.accept("(") {
			p.expect("FORCED", ")")
		}
		if o.Value == "OFF" || !p.is("(") {
			return o
		}
	case !p.is("("):
		p.refuse()
	}
	seen := map[string]bool{}
	p.list(func() { o.Parts = append(o.Parts, p.storePart(seen)...) })
	return o
}

// onceInStore leaves with 12401 when a part comes a second time.
func (p *parser) onceInStore(seen map[string]bool) {
	if name := p.peek().Fold; seen[name] {
		p.refuseWith(12401, "Query Store", name)
	}
	seen[p.peek().Fold] = true
}

func (p *parser) storePart(seen map[string]bool) []DatabaseOption {
	p.onceInStore(seen)
	for name, words := range storeWords {
		if p.accept(name) {
			p.expect("=")
			return []DatabaseOption{{Name: name, Value: p.oneOf(words...)}}
		}
	}
	for _, name := range storeNumbers {
		if p.accept(name) {
			return []DatabaseOption{p.storeNumber(name)}
		}
	}
	if p.accept("CLEANUP_POLICY") {
		p.expect("=", "(", "STALE_QUERY_THRESHOLD_DAYS")
		o := p.storeNumber("STALE_QUERY_THRESHOLD_DAYS")
		p.expect(")")
		return []DatabaseOption{o}
	}
	p.expect("QUERY_CAPTURE_POLICY", "=")
	var all []DatabaseOption
	within := map[string]bool{}
	p.list(func() { all = append(all, p.policyPart(within)) })
	return all
}

func (p *parser) storeNumber(name string) DatabaseOption {
	p.expect("=")
	return DatabaseOption{Name: name, Value: strconv.FormatInt(p.integer(), 10)}
}

func (p *parser) policyPart(seen map[string]bool) DatabaseOption {
	p.onceInStore(seen)
	for _, name := range policyNumbers {
		if p.accept(name) {
			return p.storeNumber(name)
		}
	}
	p.expect("STALE_CAPTURE_POLICY_THRESHOLD")
	o := p.storeNumber("STALE_CAPTURE_POLICY_THRESHOLD")
	if p.oneOf("DAYS", "HOURS") == "DAYS" {
		if days, err := strconv.Atoi(o.Value); err == nil && days < 1<<20 {
			o.Value = strconv.Itoa(days * 24)
		}
	}
	return o
}
