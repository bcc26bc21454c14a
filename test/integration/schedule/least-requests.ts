/**
 * Minimum number of requests for one run of a schedule with one result page. The run creates, polls, reads and deletes
 * two search jobs.
 */
export const leastPerRun = 8;
