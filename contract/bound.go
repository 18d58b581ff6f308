package contract

import "math"

// Bound is how large the failure rate may be, at 95 %, of what failed that many
// times in n independent runs: 63 % for 0 of 3, 26 % for 0 of 10, 9.5 % for 0 of
// 30, 4.9 % for 0 of 60. It is the upper end of Clopper and Pearson's one-sided
// interval.
func Bound(failures, n int) float64 {
	if n <= 0 || failures >= n {
		return 1
	}
	low, high := 0.0, 1.0
	for range 60 {
		if rate := (low + high) / 2; atMost(failures, n, rate) > 0.05 {
			low = rate
		} else {
			high = rate
		}
	}
	return high
}

// atMost is the chance of so many failures or fewer.
func atMost(failures, n int, rate float64) float64 {
	sum := 0.0
	for k := 0; k <= failures; k++ {
		sum += math.Exp(logChoose(n, k) + float64(k)*math.Log(rate) + float64(n-k)*math.Log1p(-rate))
	}
	return sum
}

func logChoose(n, k int) float64 {
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(k + 1))
	c, _ := math.Lgamma(float64(n - k + 1))
	return a - b - c
}
