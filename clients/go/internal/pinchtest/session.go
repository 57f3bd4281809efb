package pinchtest

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Session is an OpenAI Chat Completions body whose old results have so many lines.
func Session(lines int) string {
	result, err := json.Marshal(strings.Repeat("one line of a log\n", lines))
	if err != nil {
		panic(err)
	}
	turn := `{"role":"user","content":"read"},{"role":"assistant","content":null,"tool_calls":[{"id":"%d",` +
		`"type":"function","function":{"name":"read","arguments":"{}"}}]},` +
		`{"role":"tool","tool_call_id":"%d","content":%s}`
	var said []string
	for number := range 6 {
		said = append(said, fmt.Sprintf(turn, number, number, result))
	}
	return `{"n":1.0,"model":"auto","messages":[` + strings.Join(said, ",") + `,{"role":"user","content":"next"}]}`
}
