import { describe, expect, test } from 'vitest';
import { callApi, createNamespace, kubectl, userFor } from '../support/control-plane.ts';

describe('the control plane of the tests', () => {
  test("has the project's Kubernetes version, and the logfleet kinds", async () => {
    const version = await callApi('GET', '/version');
    expect(version.body.gitVersion).toMatch(/^v1\.\d+\.\d+$/);
    const kinds = await callApi('GET', '/apis/logfleet.dev/v1alpha1');
    expect(kinds.body.resources).toContainEqual(
      expect.objectContaining({ name: 'collectorversionpolicies', shortNames: ['cvp'], categories: ['logfleet'] }),
    );
  });

  test('creates a new namespace for each request', async () => {
    const [first, second] = [await createNamespace(), await createNamespace()];
    expect(first).not.toBe(second);
    expect((await callApi('GET', `/api/v1/namespaces/${second}`)).status).toBe(200);
  });

  test('limits a service account to its roles', async () => {
    const namespace = await createNamespace();
    const user = await userFor(namespace, 'reader');
    const configMaps = `/api/v1/namespaces/${namespace}/configmaps`;
    expect((await callApi('GET', configMaps, undefined, user)).status).toBe(403);

    const binding = await kubectl(['-n', namespace, 'create', '-f', '-'], {
      input: JSON.stringify({
        apiVersion: 'v1',
        kind: 'List',
        items: [
          {
            apiVersion: 'rbac.authorization.k8s.io/v1',
            kind: 'Role',
            metadata: { name: 'reader' },
            rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['list'] }],
          },
          {
            apiVersion: 'rbac.authorization.k8s.io/v1',
            kind: 'RoleBinding',
            metadata: { name: 'reader' },
            roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'reader' },
            subjects: [{ kind: 'ServiceAccount', name: 'reader', namespace }],
          },
        ],
      }),
    });
    expect(binding).toMatchObject({ status: 0 });

    // Changed permissions take effect on the API server after a short delay.
    await expect.poll(async () => (await callApi('GET', configMaps, undefined, user)).status).toBe(200);
    expect((await callApi('GET', `/api/v1/namespaces/${namespace}/secrets`, undefined, user)).status).toBe(403);
    const denied = await kubectl(['get', 'secrets'], user);
    expect(denied.status).toBe(1);
  });
});
