/** Creates a folder named by a command-line flag, including its missing parent folders. */
import { mkdirSync, statSync } from 'node:fs';
import path from 'node:path';

/**
 * Creates a folder and its missing parents one by one, because the recursive `mkdir` of Node.js never returns in /proc.
 */
export function makeWithFoldersAbove(directory: string): void {
  if (statSync(directory, { throwIfNoEntry: false })?.isDirectory()) return;
  const above = path.dirname(directory);
  if (above !== directory) makeWithFoldersAbove(above);
  mkdirSync(directory);
}
