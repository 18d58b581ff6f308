package tiktoken

import "container/heap"

// merge appends the tokens of one piece. Each of its bytes is a token at first;
// then two neighbours become one, again and again: those whose joint token has
// the lowest number, and of equals the leftmost.
func (e *encoding) merge(tokens []int, piece string) []int {
	if token, ok := e.tokens[piece]; ok {
		return append(tokens, token)
	}
	// A part begins at i if ends[i] is not zero. The part before it begins at
	// befores[i].
	ends, befores := make([]int, len(piece)), make([]int, len(piece)+1)
	var q queue
	look := func(i int) {
		if ends[i] == len(piece) {
			return
		}
		if token, ok := e.tokens[piece[i:ends[ends[i]]]]; ok {
			heap.Push(&q, pair{token, i})
		}
	}
	for i := range ends {
		ends[i], befores[i+1] = i+1, i
	}
	for i := range ends {
		look(i)
	}
	for len(q) > 0 {
		p := heap.Pop(&q).(pair)
		first, end := p.at, p.at+len(e.texts[p.token])
		second := ends[first]
		if second == 0 || second == len(piece) || ends[second] != end {
			continue // one of the two has become a part of something else
		}
		ends[first], ends[second], befores[end] = end, 0, first
		look(first)
		if first > 0 {
			look(befores[first])
		}
	}
	for i := 0; i < len(piece); i = ends[i] {
		tokens = append(tokens, e.tokens[piece[i:ends[i]]])
	}
	return tokens
}

// pair is two neighbouring parts, by the token that they would be.
type pair struct{ token, at int }

// queue has the next pair to merge first.
type queue []pair

func (q queue) Len() int { return len(q) }

func (q queue) Less(i, j int) bool {
	return q[i].token < q[j].token || q[i].token == q[j].token && q[i].at < q[j].at
}

func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(p any)   { *q = append(*q, p.(pair)) }

func (q *queue) Pop() any {
	last := len(*q) - 1
	p := (*q)[last]
	*q = (*q)[:last]
	return p
}
