/**
 * Generates files from `crds/`: types and schemas, the reference page, and copies for kustomize and Helm. Also copies
 * the version from `package.json` to other files.
 *
 * `make generate` writes all files. `make verify` fails if a generated file is out of date. Two runs write the same
 * bytes.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parse } from 'yaml';
import { withValuesTable } from './chart-values.ts';
import { type CustomResourceDefinition, isWrittenByPeople } from './crd-definition.ts';
import { renderReference } from './reference-page.ts';
import { packageVersion } from './release/program-folder.ts';
import { versionedFiles, withVersion } from './release/versions.ts';
import { withRunTemplate } from './run-template.ts';
import { renderSchema } from './schema-module.ts';
import { renderTypes } from './schema-types.ts';

const root = join(import.meta.dirname, '..');
const crdDirectory = join(root, 'crds');
const generatedDirectory = join(root, 'src/api/generated');

const searchExport: CustomResourceDefinition = parse(readFileSync(join(crdDirectory, 'search-export.yaml'), 'utf8'));
const schedule = join(crdDirectory, 'search-export-schedule.yaml');
write(schedule, withRunTemplate(readFileSync(schedule, 'utf8'), searchExport));

const definitions: CustomResourceDefinition[] = [];
mkdirSync(generatedDirectory, { recursive: true });
for (const file of readdirSync(crdDirectory).sort()) {
  if (!file.endsWith('.yaml')) continue;
  const definition: CustomResourceDefinition = parse(readFileSync(join(crdDirectory, file), 'utf8'));
  definitions.push(definition);
  for (const copies of ['manifests/crds', 'charts/logfleet/crd-files']) {
    write(join(root, copies, file), readFileSync(join(crdDirectory, file), 'utf8'));
  }
  if (!isWrittenByPeople(definition)) continue;
  const name = basename(file, '.yaml');
  write(join(generatedDirectory, `${name}.ts`), await renderTypes(definition, `crds/${file}`));
  write(join(generatedDirectory, `${name}-schema.ts`), renderSchema(definition, `crds/${file}`));
}
write(join(root, 'docs/reference.md'), renderReference(definitions));

const chart = join(root, 'charts/logfleet');
for (const file of ['alerts.yaml', 'dashboard.json', 'pod-monitor.yaml']) {
  write(join(chart, 'monitoring-files', file), readFileSync(join(root, 'manifests/monitoring', file), 'utf8'));
}
const readme = join(chart, 'README.md');
const valuesSchema = JSON.parse(readFileSync(join(chart, 'values.schema.json'), 'utf8'));
const defaults = parse(readFileSync(join(chart, 'values.yaml'), 'utf8'));
write(readme, withValuesTable(readFileSync(readme, 'utf8'), valuesSchema, defaults));

for (const file of versionedFiles) {
  write(join(root, file), withVersion(readFileSync(join(root, file), 'utf8'), packageVersion()));
}

/** Writes a file only if its content has changed, so that other programs can read unchanged files at any time. */
function write(file: string, content: string): void {
  if (!existsSync(file) || readFileSync(file, 'utf8') !== content) writeFileSync(file, content);
}
