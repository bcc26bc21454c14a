/** Tests that `logfleet validate` and a real API server accept the same manifests. */
import { type Agent, request } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseManifestFile } from '../../src/api/manifest-file.ts';
import { applyDefaults } from '../../src/api/schemas.ts';
import { resourcePath } from '../../src/host/kubernetes/api-paths.ts';
import { type CorpusManifest, readCorpus } from '../corpus/corpus.ts';
import { type ApiResponse, controlPlane, createNamespace } from '../support/control-plane.ts';
import { patientAgent } from '../support/patient-agent.ts';

let namespace: string;
let agent: Agent;

beforeAll(async () => {
  namespace = await createNamespace('corpus');
  agent = patientAgent(controlPlane().caFile);
});
afterAll(() => agent.close());

/** Creates a manifest as `kubectl create` does, but sends the text of the file unchanged. */
async function create({ kind, text }: CorpusManifest): Promise<ApiResponse> {
  const { server, adminToken } = controlPlane();
  const response = await request(`${server}${resourcePath(kind, namespace)}?dryRun=All&fieldValidation=Strict`, {
    method: 'POST',
    dispatcher: agent,
    headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/yaml', accept: 'application/json' },
    body: firstDocument(text),
  });
  return { status: response.statusCode, body: await response.body.json() };
}

/** A request to the API server can contain only one YAML document. */
function firstDocument(text: string): string {
  return text.split(/^---$/m)[0] ?? '';
}

describe('good manifests of the corpus', () => {
  test.each(readCorpus('good'))('$file is accepted, and gets the same defaults as in logfleet', async (manifest) => {
    const { status, body } = await create(manifest);
    expect({ status, message: body.message }).toEqual({ status: 201, message: undefined });
    const [document] = parseManifestFile(manifest.text).documents;
    const ours = applyDefaults(manifest.kind, document?.value as { readonly spec: unknown });
    expect(body.spec).toEqual(ours.spec);
  });
});

describe('bad manifests of the corpus', () => {
  const manifests = readCorpus('bad');

  test.each(manifests.filter(({ apiServer }) => apiServer.refuses))('$file is refused', async (manifest) => {
    const { status, body } = await create(manifest);
    expect([400, 404, 422]).toContain(status);
    expect(body.message).toContain(manifest.apiServer.says);
  });

  test.each(manifests.filter(({ apiServer }) => !apiServer.refuses))(
    '$file is accepted, although validate finds a mistake',
    async (manifest) => {
      expect(await create(manifest)).toMatchObject({ status: 201 });
    },
  );
});
