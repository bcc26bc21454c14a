/** Reads the manifests that a command line names: a file, all manifests of a directory, or `-` for standard input. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { isAbsolute, join, relative, resolve } from 'node:path';
import type { SourceFile } from '../../api/manifest-set.ts';
import type { CommandContext } from '../context.ts';
import { UsageError } from '../usage-error.ts';

/** Texts in the order of their names. Throws a `UsageError` if a file cannot be read. */
export async function readSources(
  files: readonly string[],
  context: Pick<CommandContext, 'cwd' | 'readStdin'>,
): Promise<readonly SourceFile[]> {
  const sources: SourceFile[] = [];
  for (const file of files) {
    if (file === '-') sources.push({ name: '<stdin>', text: await context.readStdin() });
    else for (const name of manifestFiles(file, context.cwd)) sources.push(readSource(name, context.cwd));
  }
  return sources;
}

const manifestName = /\.(?:ya?ml|json)$/i;

/** The file itself, or all manifests of a directory, sorted. Hidden files are left out, such as the state of logfleet. */
function manifestFiles(file: string, cwd: string): readonly string[] {
  const path = resolve(cwd, file);
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) throw new UsageError(`${file} does not exist`);
  if (!stats.isDirectory()) return [path];
  const found = walk(path);
  if (found.length === 0) throw new UsageError(`${file} has no *.yaml, *.yml or *.json`);
  return found;
}

function walk(directory: string): string[] {
  const found: string[] = [];
  const entries = readdirSync(directory, { withFileTypes: true });
  for (const entry of entries.sort((left, right) => (left.name < right.name ? -1 : 1))) {
    if (entry.name.startsWith('.')) continue;
    const path = join(directory, entry.name);
    if (entry.isDirectory()) found.push(...walk(path));
    else if (manifestName.test(entry.name)) found.push(path);
  }
  return found;
}

function readSource(path: string, cwd: string): SourceFile {
  const fromHere = relative(cwd, path);
  const name = fromHere.startsWith('..') || isAbsolute(fromHere) ? path : fromHere;
  try {
    return { name, text: readFileSync(path) };
  } catch (error) {
    throw new UsageError(`${name} cannot be read: ${(error as NodeJS.ErrnoException).code ?? String(error)}`);
  }
}
