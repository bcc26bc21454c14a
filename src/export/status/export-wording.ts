/** Words in messages that differ for a SearchExport and for an export on the command line. */

/** Field of the spec in messages, as a path below `spec`. */
export type WordedField =
  | 'activeDeadlineSeconds'
  | 'incompletePolicy'
  | 'limits.maxBytesScanned'
  | 'limits.maxMessages'
  | 'output.fields'
  | 'settleDelay';

export interface ExportWording {
  /** `resource`: a SearchExport of the operator. `process`: an export on the command line. */
  readonly startedAs: 'resource' | 'process';
  /** `stdout`: rows are written to standard output after all rows have been checked. */
  readonly rowsGoTo: 'files' | 'stdout';
  /** Returns the name of a field as users write it, such as `spec.settleDelay` or a flag. */
  fieldName(field: WordedField): string;
}

/** Wording for a SearchExport. */
export const resourceWording: ExportWording = {
  startedAs: 'resource',
  rowsGoTo: 'files',
  fieldName: (field) => `spec.${field}`,
};
