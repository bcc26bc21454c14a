/** Minimum number of requests of a run with one page: two search jobs, each created, polled, read and deleted. */
export const leastPerRun = 8;
