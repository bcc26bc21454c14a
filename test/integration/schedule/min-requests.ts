/**
 * Minimum number of requests for a scheduled run with one result page. The run uses two search jobs, each with a
 * creation, a status request, a page read and a deletion.
 */
export const minPerRun = 8;
