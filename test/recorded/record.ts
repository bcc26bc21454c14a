/**
 * Records the state that the current version of logfleet stores. Tests then check that later versions can read it.
 * Before releasing version 0.2, for example, run: `npx node test/recorded/record.ts 0.2`
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { storedRollout, unfinishedExport, unfinishedRollout } from './unfinished-work.ts';

const [version] = process.argv.slice(2);
if (version === undefined) throw new Error('the version is missing: npx node test/recorded/record.ts VERSION');
const directory = join(import.meta.dirname, `release-${version}`);
mkdirSync(directory, { recursive: true });

const write = (name: string, value: object) => {
  writeFileSync(join(directory, name), `${JSON.stringify(value, undefined, 2)}\n`);
};

write('rollout.json', storedRollout(await unfinishedRollout()));
const { store } = await unfinishedExport();
const objects = [...store.objects].sort(([one], [other]) => (one < other ? -1 : 1));
write('export.json', Object.fromEntries(objects.map(([name, bytes]) => [name, Buffer.from(bytes).toString('base64')])));
