// Package placing holds the placer and the steering against a simulated ECS, through
// the real SDK clients, while calls are lost, throttled and cut off.
package placing
