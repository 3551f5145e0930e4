/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_REPORT_DIFF_STAT_H
#define INGERO_REPORT_DIFF_STAT_H
/*
 * How far a figure may be off for chance alone, and the ratio of two.
 *
 * A figure is the ratio of two sums over the cells of a recording's time. Its standard error comes
 * from the circular block bootstrap: blocks of cells that follow each other are drawn with
 * replacement, as many as the recording has, DIFF_RESAMPLES times from a fixed seed (Kuensch 1989,
 * Annals of Statistics 17; Politis and Romano 1992). The length of the blocks is chosen by the rule
 * of Politis and White (2004, Econometric Reviews 23, with the correction of Patton, Politis and
 * White 2009) from the autocorrelation of the cells.
 *
 * A percentile q of p has the limits at which the histogram of all durations reaches p - t s and
 * p + t s, s being the bootstrapped standard error of the share of calls of at most q (Woodruff
 * 1952, JASA 47).
 *
 * The tails that corrections for many comparisons need are beyond what resampling can show: limits
 * are t standard errors away, t from Student's distribution with one degree of freedom fewer than
 * there are blocks. The ratio of two figures has the limits of their logarithms' difference, each
 * side's distances squared and added (Zou and Donner 2008, Statistics in Medicine 27; Fieller's
 * problem).
 *
 * Of several recordings a side, the figure is the mean; the variance between them is that of the
 * recordings and of a prior of DIFF_PRIOR degrees of freedom together (Smyth 2004, Statistical
 * Applications in Genetics and Molecular Biology 3). Of one a side nothing is known of it but the
 * prior; and a figure that drifts inside a recording drifts between two as well, which blocks of
 * one recording cannot show: its variance counts DIFF_DRIFT times.
 *
 * What occurs on one side only, in k of its blocks, is judged as k draws that all fell there though
 * each might have fallen on either in proportion to their lengths (Przyborowski and Wilenski 1940,
 * Biometrika 31).
 *
 * All comparisons together: Holm 1979 (Scandinavian Journal of Statistics 6), 5 %.
 *
 * Only + - * / and sqrt of doubles are used, so that results are the same on every machine whose
 * compiler does not fuse them, and within a few units in the 15th digit on others.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "diff_run.h"

#define DIFF_RESAMPLES 400
#define DIFF_ALPHA 0.05
#define DIFF_PRIOR 4
#define DIFF_DRIFT 2
#define DIFF_MIDDLE 0.9		/* limits of a median: the 10th and the 90th percentile at most */
#define DIFF_PRIOR_ERRORS 3.3	/* standard errors that the prior alone reaches: 1 in 1,000 */

struct diff_figure {
	double value;
	double num[DIFF_CELLS], den[DIFF_CELLS];
	double error;			/* standard error of num / den, by its value; of a percentile: of p */
	unsigned int df;		/* even */
	unsigned int block;		/* cells */
	bool clustered;			/* cells that follow each other are alike */
	uint64_t events;		/* what it rests on */
	/* Of percentiles: the value is not num / den, which is the share of calls up to it. */
	const uint64_t *buckets; double p; uint64_t n;
};

/* Fills in error, df and block. */
void diff_figure_error(struct diff_figure *f);
/* Blocks in which num is not 0; cells, where those are not alike. */
unsigned int diff_figure_blocks(const struct diff_figure *f);

/* A side: figures of its recordings. prior: standard deviation between runs, of the logarithm. */
struct diff_estimate { const struct diff_figure *figures; size_t count; double prior; };

double diff_estimate_value(const struct diff_estimate *e);

struct diff_interval { double low, high; };

/* The two-sided p of "both sides are equal"; both values above 0. */
double diff_compare(const struct diff_estimate *before, const struct diff_estimate *after);
/* Limits of after / before at a two-sided level, as 0.05. high may be infinite. */
struct diff_interval diff_ratio_interval(const struct diff_estimate *before,
					 const struct diff_estimate *after, double alpha);
/* The lower limit of one side alone. */
double diff_lower_limit(const struct diff_estimate *e, double alpha);
/* p of blocks events, all on a side of a share of the time of both. */
double diff_one_sided(unsigned int blocks, double share);
/* Lower limit of the rate there by the rate on the other side. */
double diff_one_sided_limit(unsigned int blocks, double share, double alpha);

/*
 * Holm's procedure: for count p values the level each is judged at; those of which p <= level are
 * significant. ERROR_MEMORY.
 */
int diff_holm(const double *p, size_t count, double alpha, double *levels);

double diff_log(double x);
double diff_exp(double x);
#endif
