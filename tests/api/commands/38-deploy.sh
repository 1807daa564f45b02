# The manifests of deploy/ are taken as they are, and applying them again changes nothing.
if ! embedded; then
    skip "manifests of deploy/" "would install Capstan on a cluster of somebody else"
    return
fi
for file in namespace agent scheduler visibility report kueue-rules; do
    ok "$file.yaml is accepted" "$KUBECTL" apply -f "$ROOT/deploy/$file.yaml"
    if [ $file != report ] || at_least 21; then # older ones do not know its CronJob, and send lists without their defaults
        said=$("$KUBECTL" apply -f "$ROOT/deploy/$file.yaml" 2>&1 | grep -v unchanged)
        is "$file.yaml again changes nothing" "" echo "$said"
    fi
done
ok "the ConfigMaps that the agent is told to read" "$KUBECTL" get configmap device-plugin-config mig-parted-config -n capstan-system
for file in kueue-rules report visibility scheduler agent namespace; do
    ok "$file.yaml is deleted" "$KUBECTL" delete -f "$ROOT/deploy/$file.yaml" --wait=false --ignore-not-found
done
