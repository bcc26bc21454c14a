/**
 * `logfleet validate FILE…`: what an API server would say about manifests, without one, and what it could not say. One line a
 * finding on stdout, `file:line:column: path: what is wrong; what to write`, or with `-o json` a list of them; and a summary on stderr.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { isAbsolute, join, relative, resolve } from 'node:path';
import { checkCredentialsSecret } from '../account/secret-check.ts';
import { explain } from '../api/finding.ts';
import { checkManifests, type ManifestReport, type PlacedFinding, type SourceFile } from '../api/manifest-set.ts';
import { systemClock } from '../base/clock.ts';
import { type CommandContext, exitStatus } from './context.ts';
import type { ValidateOptions } from './options.ts';
import { counted } from './render/counted.ts';
import { UsageError } from './usage-error.ts';

/** Resolves to 2 where something is invalid; warnings alone are no reason to fail. */
export async function validateCommand(
  files: readonly string[],
  { output }: ValidateOptions,
  context: CommandContext,
): Promise<number> {
  const sources: SourceFile[] = [];
  for (const file of files) {
    if (file === '-') sources.push({ name: '<stdin>', text: await context.readStdin() });
    else for (const name of manifestFiles(file, context.cwd)) sources.push(readSource(name, context.cwd));
  }
  const report = checkManifests(sources, checkCredentialsSecret, systemClock.now());
  context.stdout.write(output === 'json' ? renderJson(report.findings) : report.findings.map(renderFinding).join(''));
  context.stderr.write(`${renderSummary(report, sources.length)}\n`);
  return report.findings.some(({ severity }) => severity === 'error') ? exitStatus.usage : exitStatus.ok;
}

const manifestName = /\.(?:ya?ml|json)$/;

/** A file as it is; of a directory all manifests in it, sorted. What is hidden is left out, as logfleet's own state is. */
function manifestFiles(file: string, cwd: string): readonly string[] {
  const path = resolve(cwd, file);
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) throw new UsageError(`there is no file or directory ${file}`);
  if (!stats.isDirectory()) return [path];
  const found = walk(path);
  if (found.length === 0) throw new UsageError(`there is no *.yaml, *.yml or *.json in ${file}`);
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
    return { name, text: readFileSync(path, 'utf8') };
  } catch (error) {
    throw new UsageError(`${name} cannot be read: ${(error as NodeJS.ErrnoException).code ?? String(error)}`);
  }
}

function renderFinding({ file, position, path, severity, message }: PlacedFinding): string {
  const place = `${file}:${position.line}:${position.column}: `;
  return `${place}${path === '' ? '' : `${path}: `}${severity === 'warning' ? 'warning: ' : ''}${message}\n`;
}

/** What stands in the lines, apart: programs need not take them to pieces. */
function renderJson(findings: readonly PlacedFinding[]): string {
  const list = findings.map(({ file, position, path, severity, message }) => {
    return { file, ...position, path, severity, ...explain({ message }) };
  });
  return `${JSON.stringify(list, undefined, 2)}\n`;
}

function renderSummary({ findings, checked, passedOver }: ManifestReport, files: number): string {
  const errors = findings.filter(({ severity }) => severity === 'error').length;
  const warnings = findings.length - errors;
  const parts = [
    `${counted(checked, 'resource')} in ${counted(files, 'file')}`,
    errors === 0 ? 'all valid' : counted(errors, 'error'),
    ...(warnings > 0 ? [counted(warnings, 'warning')] : []),
    ...(passedOver > 0 ? [`${counted(passedOver, 'document')} of other kinds passed over`] : []),
  ];
  if (checked === 0) parts[1] = errors === 0 ? 'nothing to check' : counted(errors, 'error');
  return parts.join(', ');
}
