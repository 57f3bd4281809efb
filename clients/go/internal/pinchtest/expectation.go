package pinchtest

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/pinch-grpc/pinch/clients/go/pinchv1"
)

// Expectation is what must hold of a result; nil means that the vector does not say.
type Expectation struct {
	Pruned     *bool   `json:"pruned"`
	BudgetMet  *bool   `json:"budget_met"`
	Output     *string `json:"output"`
	MustChange []Place `json:"must_change"`
	MustKeep   []Place `json:"must_keep"`
	MinChanged int     `json:"min_changed"`
}

// Place is a message, or a block of it.
type Place struct {
	Message int32
	Block   *int32
}

// UnmarshalJSON reads a pair of message and block, or null for the whole message.
func (p *Place) UnmarshalJSON(text []byte) error {
	return json.Unmarshal(text, &[]any{&p.Message, &p.Block})
}

// changed tells whether there is an edit at the place.
func (p Place) changed(edits []*pinchv1.Edit) bool {
	return slices.ContainsFunc(edits, func(edit *pinchv1.Edit) bool {
		same := p.Block == nil || edit.BlockIndex != nil && edit.GetBlockIndex() == *p.Block
		return edit.GetMessageIndex() == p.Message && same
	})
}

// Violations are what does not hold of a result, one line each.
func (e Expectation) Violations(body []byte, pruned bool, reply *pinchv1.PruneResponse) []string {
	var found []string
	expect := func(holds bool, format string, arguments ...any) {
		if !holds {
			found = append(found, fmt.Sprintf(format, arguments...))
		}
	}
	expect(e.Pruned == nil || *e.Pruned == pruned && pruned == reply.GetStats().GetPruned(), "pruned: %t", pruned)
	met := reply.GetStats().GetBudgetMet()
	expect(e.BudgetMet == nil || *e.BudgetMet == met, "budget_met: %t", met)
	expect(e.Output == nil || *e.Output == string(body), "output: %s", body)
	for _, place := range e.MustChange {
		expect(place.changed(reply.GetEdits()), "must_change: %v", place)
	}
	for _, place := range e.MustKeep {
		expect(!place.changed(reply.GetEdits()), "must_keep: %v", place)
	}
	results := map[[2]int32]bool{}
	for _, edit := range reply.GetEdits() {
		block := int32(-1)
		if edit.BlockIndex != nil {
			block = edit.GetBlockIndex()
		}
		results[[2]int32{edit.GetMessageIndex(), block}] = true
	}
	expect(len(results) >= e.MinChanged, "min_changed: %d results", len(results))
	return found
}
