/**
 * `make package`: builds the files of a release in `out/`. Arguments select some of the files: `npm`, `layer`, `chart`,
 * or platforms such as `linux-x64`. Two builds of the same commit give the same bytes.
 */
import { mkdirSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { artifactKinds, withProgram, writeArtifact } from './release/artifacts.ts';
import { sourceTime } from './release/source-time.ts';

const root = join(import.meta.dirname, '..');
const out = join(root, 'out');

const names = process.argv.slice(2);
const unknown = names.find((name) => !artifactKinds.some((kind) => kind === name));
if (unknown !== undefined) {
  console.error(`package: there is no archive ${unknown}; choose from ${artifactKinds.join(', ')}`);
  process.exit(2);
}
mkdirSync(out, { recursive: true });
await withProgram(sourceTime(), async (program) => {
  for (const kind of artifactKinds.filter((each) => names.length === 0 || names.includes(each))) {
    const file = await writeArtifact(kind, program, out);
    console.log(`${relative(root, file)}: ${(statSync(file).size / 1024 ** 2).toFixed(1)} MiB`);
  }
});
