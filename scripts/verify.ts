/** `make verify`: regenerates all generated files, and fails if a file changes. */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { versionedFiles } from './release/versions.ts';

const root = join(import.meta.dirname, '..');
/** Paths of all files that `make generate` writes. */
const generated = [
  'src/api/generated',
  'docs/reference.md',
  'manifests/crds',
  'charts/logfleet/crd-files',
  'charts/logfleet/monitoring-files',
  'charts/logfleet/README.md',
  ...versionedFiles,
];

const before = contents();
execFileSync(process.execPath, ['scripts/generate.ts'], { cwd: root, stdio: 'inherit' });
const after = contents();
const stale = [...new Set([...before.keys(), ...after.keys()])].filter((file) => before.get(file) !== after.get(file));
if (stale.length > 0) {
  console.error(`Out of date: ${stale.join(', ')}. This command has regenerated the files. Commit them.`);
  process.exitCode = 1;
}
const uncommitted = execFileSync('git', ['status', '--porcelain', '--', ...generated], { cwd: root, encoding: 'utf8' });
if (process.env['CI'] && uncommitted !== '') {
  console.error(`Generated files that are not committed:\n${uncommitted}`);
  process.exitCode = 1;
}

/** Returns the content of each generated file by path. */
function contents(): Map<string, string> {
  return new Map(generated.flatMap(filesOf).map((file) => [file, readFileSync(join(root, file), 'utf8')]));
}

function filesOf(path: string): string[] {
  if (statSync(join(root, path)).isFile()) return [path];
  return readdirSync(join(root, path), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)));
}
