/** Tests which commands the `logfleet ui` page offers for a resource. */
import { describe, expect, test } from 'vitest';
import type { AnyResource } from '../../../../src/api/kinds.ts';
import { resourceCommands } from '../../../../src/cli/ui/resource-commands.ts';
import { detailOf } from '../../../../src/cli/ui/resource-row.ts';
import { exampleResources, shownResource } from '../../../support/shown-resources.ts';

const examples = exampleResources(Date.UTC(2026, 10, 23, 16));
const flags = { context: 'production' };

function example(name: string): AnyResource {
  const found = examples.find(({ metadata }) => metadata.name === name);
  if (!found) throw new Error(`no example is named ${name}`);
  return found;
}

function awaited(resource: AnyResource) {
  return resourceCommands(resource, flags).flatMap(({ command, isAwaited }) => (isAwaited ? [command] : []));
}

describe('the command that a resource waits for', () => {
  test.each([
    ['payments', 'logfleet retry cvp/payments --context production -n payments'],
    ['edge', 'logfleet approve cvp/edge --context production -n network --stage rest'],
    ['access-log', 'logfleet retry sxs/access-log --context production -n web'],
  ])('of %s is %s', (name, command) => {
    expect(awaited(example(name))).toEqual([command]);
  });

  test.each(['production', 'office', 'october-audit', 'september-audit', 'errors'])('is missing for %s', (name) => {
    expect(awaited(example(name))).toEqual([]);
  });

  test('resumes a resource that was paused by annotation', () => {
    const metadata = { annotations: { 'logfleet.dev/paused': 'true' } };
    const paused = shownResource({ kind: 'SearchExport', name: 'errors', metadata });
    expect(awaited(paused)).toEqual(['logfleet resume sx/errors --context production -n logging']);
  });
});

describe('the other commands', () => {
  const offered = (resource: AnyResource, options = {}) =>
    resourceCommands(resource, options).flatMap(({ command, isAwaited }) => (isAwaited ? [] : [command]));

  test('pause, abort and retry a rollout with failures', () => {
    expect(offered(example('production'), { dir: './my policies' })).toEqual([
      "logfleet retry cvp/production --dir './my policies' -n logging",
      "logfleet pause cvp/production --dir './my policies' -n logging",
      "logfleet abort cvp/production --dir './my policies' -n logging",
      "logfleet get cvp production --dir './my policies' -n logging --watch",
    ]);
  });

  test('verify a complete export, which can no longer be paused', () => {
    expect(offered(example('september-audit'))).toEqual([
      'logfleet verify s3://audit/logs/audit/september-audit/439b4d31/manifest.json --region eu-central-1',
      'logfleet get sx september-audit -n audit --watch',
    ]);
  });

  test.each<[string, object, string]>([
    [
      's3://audit',
      { s3: { bucket: 'audit', endpoint: 'http://minio:9000', forcePathStyle: true, insecure: true } },
      ' --endpoint http://minio:9000 --path-style --insecure',
    ],
    ['gs://audit', { gcs: { bucket: 'audit' } }, ''],
    [
      'https://store.example.com/audit',
      { azureBlob: { container: 'audit', endpoint: 'https://store.example.com' } },
      ' --endpoint https://store.example.com',
    ],
  ])('verify files in the store %s', (url, destination, storeFlags) => {
    const known = { sha256: '0', rows: 1, files: 1, bytes: 1, complete: true, proof: 'Count' } as const;
    const status = { manifest: { ...known, url } };
    const resource = shownResource({ kind: 'SearchExport', name: 'errors', spec: { destination }, status });
    expect(offered(resource)).toContain(`logfleet verify ${url}${storeFlags}`);
  });

  test('verify files on a volume only for a directory, because the volumes of a cluster are mounted elsewhere', () => {
    const known = { sha256: '0', rows: 1, files: 1, bytes: 1, complete: true, proof: 'Count' } as const;
    const status = { manifest: { ...known, url: 'file:///srv/exports/manifest.json' } };
    const destination = { volume: { name: 'exports' } };
    const resource = shownResource({ kind: 'SearchExport', name: 'errors', spec: { destination }, status });
    const command = 'logfleet verify file:///srv/exports/manifest.json';
    expect(offered(resource, { dir: 'exports' })).toContain(command);
    expect(offered(resource)).not.toContain(command);
  });

  test('read the logs of a Kubernetes Job', () => {
    const status = { kubernetesJob: { name: 'errors-x7' } };
    const resource = shownResource({ kind: 'SearchExport', name: 'errors', status });
    expect(offered(resource, { kubeconfig: 'admin.conf' })).toContain(
      'kubectl logs job/errors-x7 --kubeconfig admin.conf -n logging',
    );
  });

  test('quote the name of a Job, because anyone with write access to the status can choose it', () => {
    const status = { kubernetesJob: { name: 'x;$(id)' } };
    const resource = shownResource({ kind: 'SearchExport', name: 'errors', status });
    expect(offered(resource)).toContain("kubectl logs 'job/x;$(id)' -n logging");
  });
});

describe('the details of a resource', () => {
  test('contain no annotations and labels', () => {
    const secret = 'kubectl.kubernetes.io/last-applied-configuration';
    const metadata = { annotations: { [secret]: 'private' }, labels: { team: 'private' } };
    const detail = detailOf(shownResource({ kind: 'SearchExport', name: 'errors', metadata }), {});
    expect(JSON.stringify(detail)).not.toContain('private');
  });

  test('say how to resume a resource that its manifest pauses', () => {
    const resource = shownResource({ kind: 'SearchExport', name: 'errors', spec: { paused: true }, status: {} });
    expect(detailOf(resource, {}).messages).toEqual(["To resume sx/errors, remove 'paused: true' from the manifest."]);
  });

  test('say that no operator has read a new resource, or its newest spec', () => {
    const [fresh, changed] = [undefined, { observedGeneration: 1 }].map((status) =>
      shownResource({ kind: 'SearchExport', name: 'errors', ...(status && { status }), metadata: { generation: 2 } }),
    );
    expect(fresh && detailOf(fresh, {}).messages[0]).toMatch(/^No operator /);
    expect(changed && detailOf(changed, {}).messages[0]).toContain('generation 1 of the spec');
  });
});
