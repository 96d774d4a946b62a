// SPDX-License-Identifier: Apache-2.0

package shape

// Pipeline is links one behind the other: what leaves one enters the next.
type Pipeline struct {
	stages []*Stage
}

// NewPipeline returns links that follow the rules, the first first.
func NewPipeline(rules ...Rule) *Pipeline {
	p := &Pipeline{}
	p.Change(rules...)
	return p
}

// Change puts other rules in force for the frames to come; links keep their
// memory by their place: see Stage.Change.
func (p *Pipeline) Change(rules ...Rule) {
	stages := make([]*Stage, 0, len(rules))
	for i, rule := range rules {
		if i < len(p.stages) {
			p.stages[i].Change(rule)
			stages = append(stages, p.stages[i])
			continue
		}
		stages = append(stages, NewStage(rule))
	}
	p.stages = stages
}

// Arrive decides about a frame as Stage.Arrive does, for all links together.
// The links do not know apart how many frames are under way in each: underway
// counts for every one.
func (p *Pipeline) Arrive(now int64, wire, underway int, random Source) Verdict {
	sum := Verdict{Due: now, Copies: 1}
	for _, stage := range p.stages {
		verdict := stage.Arrive(sum.Due, wire, underway, random)
		if verdict.Drop {
			return verdict
		}
		sum.Due = verdict.Due
		sum.Copies *= verdict.Copies
		sum.Corrupt = sum.Corrupt || verdict.Corrupt
	}
	return sum
}
