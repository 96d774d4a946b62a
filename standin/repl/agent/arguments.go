// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"geosql.dev/standin/catalog"
)

// Arguments are a replication agent's parameters, from the text of its job step.
type Arguments struct {
	Agent  *catalog.AgentInfo
	values map[string]string // by lower case name with its dash
}

// refusedArguments would change what an agent does, and are not supported. The value, where there is one, is the
// harmless setting.
var refusedArguments = map[string]string{
	"-definitionfile": "", "-ftpaddress": "", "-ftppassword": "", "-ftpport": "", "-ftpusername": "",
	"-filetransfertype": "0", "-usedts": "", "-hostname": "",
	"-subscriberdatabasepath": "", "-subscriptiontablename": "MSreplication_subscriptions", "-subscribertype": "0",
	"-dynamicfilterhostname": "", "-dynamicfilterlogin": "", "-dynamicsnapshotlocation": "", "-70subscribers": "",
	"-errorfile": "", "-output": "",
	"-extendedeventconfigfile": "", "-publisherfailoverpartner": "", "-replicationtype": "1",
}

// parseArguments reads a job step's text for an agent ("distrib", "logread", "snapshot"): a name that is unknown, a
// value out of its documented range, or one that this server does not support is an error.
func parseArguments(agent, commandLine string) (*Arguments, error) {
	info, ok := catalog.AgentParameters(agent)
	if !ok {
		return nil, fmt.Errorf("there is no agent %s", agent)
	}
	tokens, err := split(commandLine)
	if err != nil {
		return nil, err
	}
	a := &Arguments{Agent: info, values: map[string]string{}}
	for i := 0; i < len(tokens); i++ {
		t := tokens[i]
		p, known := info.Parameter(t.text)
		if t.quoted || !strings.HasPrefix(t.text, "-") || !known {
			return nil, fmt.Errorf("the parameter %q is not one of the agent's", t.text)
		}
		name, value := strings.ToLower(p.Name), ""
		if p.Default == nil || *p.Default != "off" {
			if i+1 >= len(tokens) || !tokens[i+1].quoted && isName(info, tokens[i+1].text) {
				return nil, fmt.Errorf("the parameter %s needs a value", p.Name)
			}
			i++
			value = tokens[i].text
		}
		if _, twice := a.values[name]; twice {
			return nil, fmt.Errorf("the parameter %s is given twice", p.Name)
		}
		if err := a.Check(p, value); err != nil {
			return nil, err
		}
		a.values[name] = value
	}
	for _, p := range info.Parameters {
		if _, given := a.values[strings.ToLower(p.Name)]; p.Required && !given {
			return nil, fmt.Errorf("the parameter %s is required", p.Name)
		}
	}
	return a, nil
}

func isName(info *catalog.AgentInfo, text string) bool {
	_, known := info.Parameter(text)
	return known && strings.HasPrefix(text, "-")
}

// Check refuses a value that a parameter does not take.
func (a *Arguments) Check(p *catalog.AgentParameter, value string) error {
	if harmless, refused := refusedArguments[strings.ToLower(p.Name)]; refused && (harmless == "" || value != harmless) {
		return fmt.Errorf("the parameter %s is not supported", p.Name)
	}
	if len(p.Values) > 0 {
		if _, ok := p.Values[value]; !ok {
			return fmt.Errorf("the parameter %s must not be %q", p.Name, value)
		}
	}
	if err := inRange(p.Range, value); err != nil {
		return fmt.Errorf("the parameter %s must be %s: %w", p.Name, p.Range, err)
	}
	return nil
}

// inRange checks a value against the documentation's "1..64", "max 10000", ">0", "0|1"; others bound nothing.
func inRange(bounds, value string) error {
	hi := int64(1 << 62)
	var lo int64
	switch {
	case bounds == "":
		return nil
	case strings.Contains(bounds, "|"):
		for _, v := range strings.Split(bounds, "|") {
			if v == value {
				return nil
			}
		}
		return fmt.Errorf("%q is none of them", value)
	case strings.HasPrefix(bounds, "max "):
		hi, _ = strconv.ParseInt(strings.TrimPrefix(bounds, "max "), 10, 64)
	case strings.HasPrefix(bounds, ">"):
		lo, _ = strconv.ParseInt(strings.TrimPrefix(bounds, ">"), 10, 64)
		lo++
	default:
		left, right, found := strings.Cut(bounds, "..")
		right, _, _ = strings.Cut(right, " ")
		l, e1 := strconv.ParseInt(left, 10, 64)
		h, e2 := strconv.ParseInt(right, 10, 64)
		if !found || e1 != nil || e2 != nil {
			return nil
		}
		lo, hi = l, h
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return fmt.Errorf("%q is no number", value)
	}
	if n < lo || n > hi {
		return fmt.Errorf("%d is not", n)
	}
	return nil
}

func (a *Arguments) given(name string) bool {
	_, ok := a.values[strings.ToLower(name)]
	return ok
}

// Str is a parameter's value, else the catalog's default.
func (a *Arguments) str(name string) string {
	if v, ok := a.values[strings.ToLower(name)]; ok {
		return v
	}
	if p, ok := a.Agent.Parameter(name); ok && p.Default != nil {
		return *p.Default
	}
	return ""
}

func (a *Arguments) num(name string, otherwise int) int {
	n, err := strconv.Atoi(a.str(name))
	if err != nil {
		return otherwise
	}
	return n
}

func (a *Arguments) seconds(name string, otherwise int) time.Duration {
	return time.Duration(a.num(name, otherwise)) * time.Second
}

// profile fills in what a profile says and the command line does not. Names that the agent does not know are passed
// over: profiles are shared by versions.
func (a *Arguments) profile(name, value string) error {
	name = "-" + strings.TrimPrefix(name, "-")
	p, ok := a.Agent.Parameter(name)
	if !ok || a.given(p.Name) {
		return nil
	}
	if err := a.Check(p, value); err != nil {
		return fmt.Errorf("agent profile: %w", err)
	}
	a.values[strings.ToLower(p.Name)] = value
	return nil
}

type token struct {
	text   string
	quoted bool
}

// split takes a command line apart: words, [names] with ]] for ], and "texts" with "" for ".
func split(line string) ([]token, error) {
	var out []token
	for i := 0; i < len(line); {
		switch c := line[i]; {
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			i++
		case c == '[' || c == '"':
			end := c
			if c == '[' {
				end = ']'
			}
			var b strings.Builder
			i++
			for closed := false; !closed; i++ {
				if i >= len(line) {
					return nil, fmt.Errorf("a value that begins with %c does not end", c)
				}
				if line[i] != end {
					b.WriteByte(line[i])
					continue
				}
				if i+1 < len(line) && line[i+1] == end {
					b.WriteByte(end)
					i++
					continue
				}
				closed = true
			}
			out = append(out, token{b.String(), true})
		default:
			start := i
			for i < len(line) && !strings.ContainsRune(" \t\r\n", rune(line[i])) {
				i++
			}
			out = append(out, token{line[start:i], false})
		}
	}
	return out, nil
}

// idleArguments have nothing to change in an agent here: they are for publishers and subscribers of other vendors,
// merge publications and files of characters, for drivers and bulk copies that are other ones here, or for internal
// use. standin/README.md names those that somebody could miss.
var idleArguments = map[string]string{
	"distrib": "-MaxBcpThreads -MultiSubnetFailover -OutputVerboseLevel -QuotedIdentifier -UseInprocLoader",
	"logread": "-LogScanThreshold -MultiSubnetFailover -OutputVerboseLevel -RecoverFromDataErrors",
	"snapshot": "-BcpBatchSize -DistributorDeadlockPriority -FieldDelimiter -HRBcpBlocks -HRBcpBlockSize " +
		"-HRBcpDynamicBlocks -MaxBcpThreads -MaxNetworkOptimization -OutputVerboseLevel -PrefetchTables " +
		"-PublisherDeadlockPriority -RowDelimiter -StartQueueTimeout -UsePerArticleContentsView",
}
