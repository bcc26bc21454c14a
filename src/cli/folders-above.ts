/** Folders that a flag names, made where they are not there. */
import { mkdirSync, statSync } from 'node:fs';
import path from 'node:path';

/** Step by step: Node's own way to make all at once never ends where nothing can be made, as in /proc. */
export function makeWithFoldersAbove(directory: string): void {
  if (statSync(directory, { throwIfNoEntry: false })?.isDirectory()) return;
  const above = path.dirname(directory);
  if (above !== directory) makeWithFoldersAbove(above);
  mkdirSync(directory);
}
