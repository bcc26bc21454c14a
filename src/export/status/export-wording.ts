/** Differences between messages about a SearchExport and messages about an export of the command line. */

/** Field of the spec that messages name, as a path below `spec`. */
export type WordedField =
  | 'activeDeadlineSeconds'
  | 'incompletePolicy'
  | 'limits.maxBytesScanned'
  | 'limits.maxMessages'
  | 'output.fields'
  | 'settleDelay';

export interface ExportWording {
  /** `resource`: a SearchExport of the operator. `process`: an export of the command line, which users can run again with another query. */
  readonly startedAs: 'resource' | 'process';
  /** `stdout`: rows go to standard output after all of them are proven. */
  readonly rowsGoTo: 'files' | 'stdout';
  /** Name of a field as users write it: `spec.settleDelay` in a SearchExport, or a flag on the command line. */
  fieldName(field: WordedField): string;
}

/** Wording for a SearchExport. */
export const resourceWording: ExportWording = {
  startedAs: 'resource',
  rowsGoTo: 'files',
  fieldName: (field) => `spec.${field}`,
};
