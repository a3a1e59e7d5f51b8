/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ATTEMPT_REWARD_H
#define ATTEMPT_REWARD_H

#include <stdbool.h>
#include <stdint.h>

#define REWARDS_TEXT_MAX 16384

/* What a verifier's reward files said. Plain data: it comes back from a reader. */
struct reward {
	uint32_t graded; /* 0 or 1 */
	uint32_t both;   /* reward.json and reward.txt were both there; the json was taken */
	double value;
	char source[16];  /* "reward.json" or "reward.txt" */
	char reason[200]; /* why it is ungraded; plain words, nothing the verifier wrote */
	char rewards
		[REWARDS_TEXT_MAX]; /* every key of reward.json as one JSON object, may be empty */
};

/* Reads reward.json, else reward.txt, in directory: regular files with one name, at most 1 MiB, a
 * finite number. reward.json is a number, or an object of numbers whose primary key is "reward" (or
 * its only key). Runs in a reader. */
void reward_read(int directory, struct reward *ret);

#endif
