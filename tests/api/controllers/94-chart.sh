# What a Helm chart of a service with storage brings, applied as it is: a StatefulSet with its headless Service, a DaemonSet, a Deployment
# with a PodDisruptionBudget, and what they refer to. Embedded only.
if ! embedded; then
    skip "a chart" "needs the embedded cluster"
    return
fi
cat >chart.yaml <<'YAML'
apiVersion: v1
kind: ServiceAccount
metadata: {name: shop, labels: {app.kubernetes.io/name: shop, app.kubernetes.io/managed-by: Helm}}
automountServiceAccountToken: false
---
apiVersion: v1
kind: ConfigMap
metadata: {name: shop, labels: {app.kubernetes.io/name: shop}}
data: {shop.conf: "workers = 4\n"}
---
apiVersion: v1
kind: Secret
metadata: {name: shop-db, labels: {app.kubernetes.io/name: shop}}
type: Opaque
stringData: {password: secret}
---
apiVersion: v1
kind: Service
metadata: {name: shop-db-headless, labels: {app.kubernetes.io/name: shop, app.kubernetes.io/component: db}}
spec:
  type: ClusterIP
  clusterIP: None
  publishNotReadyAddresses: true
  selector: {app.kubernetes.io/name: shop, app.kubernetes.io/component: db}
  ports: [{name: tcp-db, port: 5432, targetPort: tcp-db}]
---
apiVersion: v1
kind: Service
metadata: {name: shop, labels: {app.kubernetes.io/name: shop, app.kubernetes.io/component: web}}
spec:
  selector: {app.kubernetes.io/name: shop, app.kubernetes.io/component: web}
  ports: [{name: http, port: 80, targetPort: http}]
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: shop-db, labels: {app.kubernetes.io/name: shop, app.kubernetes.io/component: db}}
spec:
  serviceName: shop-db-headless
  replicas: 2
  podManagementPolicy: OrderedReady
  updateStrategy: {type: RollingUpdate, rollingUpdate: {}}
  persistentVolumeClaimRetentionPolicy: {whenDeleted: Delete, whenScaled: Retain}
  selector: {matchLabels: {app.kubernetes.io/name: shop, app.kubernetes.io/component: db}}
  template:
    metadata:
      labels: {app.kubernetes.io/name: shop, app.kubernetes.io/component: db}
      annotations: {checksum/config: 01ba4719}
    spec:
      serviceAccountName: shop
      securityContext: {fsGroup: 1001, fsGroupChangePolicy: Always}
      affinity:
        podAntiAffinity:
          preferredDuringSchedulingIgnoredDuringExecution:
          - weight: 1
            podAffinityTerm:
              topologyKey: kubernetes.io/hostname
              labelSelector: {matchLabels: {app.kubernetes.io/name: shop, app.kubernetes.io/component: db}}
      terminationGracePeriodSeconds: 1
      initContainers:
      - name: chmod
        image: docker.io/library/busybox:1.36
        command: [sh, -c, "true"]
        volumeMounts: [{name: data, mountPath: /data}]
      containers:
      - name: db
        image: docker.io/library/postgres:16
        imagePullPolicy: IfNotPresent
        securityContext: {runAsUser: 1001, runAsNonRoot: true, allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
        env:
        - {name: MY_POD_NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
        - {name: PASSWORD, valueFrom: {secretKeyRef: {name: shop-db, key: password}}}
        ports: [{name: tcp-db, containerPort: 5432}]
        livenessProbe: {tcpSocket: {port: tcp-db}, initialDelaySeconds: 30}
        readinessProbe: {exec: {command: [pg_isready]}, periodSeconds: 10}
        resources: {requests: {cpu: 100m, memory: 128Mi}, limits: {memory: 192Mi}}
        volumeMounts:
        - {name: data, mountPath: /data}
        - {name: shm, mountPath: /dev/shm}
      volumes:
      - {name: shm, emptyDir: {medium: Memory}}
  volumeClaimTemplates:
  - apiVersion: v1
    kind: PersistentVolumeClaim
    metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 8Gi}}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: shop-logs, labels: {app.kubernetes.io/name: shop, app.kubernetes.io/component: logs}}
spec:
  selector: {matchLabels: {app.kubernetes.io/name: shop, app.kubernetes.io/component: logs}}
  updateStrategy: {type: RollingUpdate, rollingUpdate: {maxUnavailable: 50%}}
  template:
    metadata: {labels: {app.kubernetes.io/name: shop, app.kubernetes.io/component: logs}}
    spec:
      tolerations: [{operator: Exists}]
      containers:
      - name: logs
        image: docker.io/fluent/fluent-bit:3
        volumeMounts: [{name: var-log, mountPath: /var/log, readOnly: true}]
      volumes: [{name: var-log, hostPath: {path: /var/log}}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop, labels: {app.kubernetes.io/name: shop, app.kubernetes.io/component: web}}
spec:
  replicas: 3
  selector: {matchLabels: {app.kubernetes.io/name: shop, app.kubernetes.io/component: web}}
  template:
    metadata: {labels: {app.kubernetes.io/name: shop, app.kubernetes.io/component: web}}
    spec:
      serviceAccountName: shop
      topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: kubernetes.io/hostname
        whenUnsatisfiable: ScheduleAnyway
        labelSelector: {matchLabels: {app.kubernetes.io/name: shop, app.kubernetes.io/component: web}}
      containers:
      - name: web
        image: docker.io/library/nginx:1.27
        ports: [{name: http, containerPort: 8080}]
        envFrom: [{configMapRef: {name: shop}}]
        readinessProbe: {httpGet: {path: /, port: http}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: shop, labels: {app.kubernetes.io/name: shop}}
spec: {maxUnavailable: 1, selector: {matchLabels: {app.kubernetes.io/name: shop, app.kubernetes.io/component: web}}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: shop-db, labels: {app.kubernetes.io/name: shop}}
spec: {minAvailable: 1, selector: {matchLabels: {app.kubernetes.io/name: shop, app.kubernetes.io/component: db}}}
YAML
ok "applied" k apply -f chart.yaml
ok "applied again" k apply -f chart.yaml
is "which changes nothing" "1 1 1 1 1" k get sts,ds,deployment,pdb -o 'jsonpath={.items[*].metadata.generation}'
for what in sts/shop-db ds/shop-logs deployment/shop; do
    says "$what is rolled out" 'complete|successfully rolled out' k rollout status $what --timeout=120s
done
is "everything of it is ready" "2/2 3/3" k get sts/shop-db deployment/shop -o 'go-template={{range $i, $o := .items}}{{if $i}} {{end}}{{.status.readyReplicas}}/{{.spec.replicas}}{{end}}'
says "get all" 'statefulset.apps/shop-db +2/2' k get all
says "get all has the pods" 'pod/shop-db-1 +1/1 +Running' k get all
soon "the database's hosts" '^shop-db-0 shop-db-1 $' k get endpoints shop-db-headless -o 'jsonpath={range .subsets[0].addresses[*]}{.hostname} {end}'
soon "the web's addresses" '^3 8080$' bash -c "echo \$('$KUBECTL' -n '$NS' get endpoints shop -o 'jsonpath={.subsets[0].addresses[*].ip}' | wc -w) \$('$KUBECTL' -n '$NS' get endpoints shop -o 'jsonpath={.subsets[0].ports[0].port}')"
soon "one may be away" '^1 3$' k get pdb shop -o 'jsonpath={.status.disruptionsAllowed} {.status.expectedPods}'
says "describe of the set" 'Volume Claims:' k describe sts shop-db
says "describe of the daemons" 'Pods Status: +[0-9]+ Running' k describe ds shop-logs
says "an upgrade" 'image updated' k set image sts/shop-db db=docker.io/library/postgres:17
says "it is rolled out" 'complete' k rollout status sts/shop-db --timeout=120s
says "it is taken back" 'rolled back' k rollout undo sts/shop-db
says "and rolled out" 'complete' k rollout status sts/shop-db --timeout=120s
is "as it was" "docker.io/library/postgres:16 docker.io/library/postgres:16" k get pods -l app.kubernetes.io/component=db -o 'jsonpath={.items[*].spec.containers[0].image}'
ok "uninstalled" k delete -f chart.yaml --wait=false
soon "claims go where the chart says so" '^$' k get all,pvc,endpoints,endpointslices,controllerrevisions -o name
