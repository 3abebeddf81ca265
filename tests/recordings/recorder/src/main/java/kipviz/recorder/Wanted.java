package kipviz.recorder;

import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;

/** ACLs of one principal, which an operator makes and takes away; a name that ends in a star is a prefix. */
final class Wanted {

    private static final int PATIENCE = 100;

    private final Recording recording;
    private final String principal;

    Wanted(Recording recording, String principal) {
        this.recording = recording;
        this.principal = principal;
    }

    /** Each right is "OPERATION RESOURCE name". */
    void allow(String... rights) throws Exception {
        create(AclPermissionType.ALLOW, rights);
    }

    void deny(String... rights) throws Exception {
        create(AclPermissionType.DENY, rights);
    }

    void takeAway(AclPermissionType kind, String... rights) throws Exception {
        List<AclBinding> gone = bindings(kind, rights);
        Admin admin = recording.observer();
        recording.call("admin", "deleteAcls", Map.of("acls", views(gone)), () -> {
            admin.deleteAcls(gone.stream().map(AclBinding::toFilter).toList()).all().get();
            await(gone, false);
        });
    }

    private void create(AclPermissionType kind, String... rights) throws Exception {
        List<AclBinding> made = bindings(kind, rights);
        recording.call("admin", "createAcls", Map.of("acls", views(made)), () -> {
            recording.observer().createAcls(made).all().get();
            await(made, true);
        });
    }

    /** The call ends when the broker itself knows. */
    private void await(List<AclBinding> changed, boolean there) throws Exception {
        for (int i = 0; i < PATIENCE; i++) {
            Collection<AclBinding> known = recording.observer().describeAcls(AclBindingFilter.ANY).values().get();
            if (changed.stream().allMatch(each -> known.contains(each) == there)) {
                // So that no request of a moment later may have come before.
                Thread.sleep(150);
                return;
            }
            Thread.sleep(20);
        }
        throw new IllegalStateException("The broker does not learn of " + changed + ".");
    }

    private List<AclBinding> bindings(AclPermissionType kind, String... rights) {
        List<AclBinding> found = new ArrayList<>();
        for (String right : rights) {
            String[] words = right.split(" ");
            boolean prefix = words[2].endsWith("*") && words[2].length() > 1;
            String name = prefix ? words[2].substring(0, words[2].length() - 1) : words[2];
            found.add(new AclBinding(
                new ResourcePattern(ResourceType.valueOf(words[1]), name,
                    prefix ? PatternType.PREFIXED : PatternType.LITERAL),
                new AccessControlEntry("User:" + principal, "*", AclOperation.valueOf(words[0]), kind)));
        }
        return found;
    }

    private List<Map<String, Object>> views(List<AclBinding> all) {
        List<Map<String, Object>> views = new ArrayList<>();
        for (AclBinding each : all) {
            Map<String, Object> view = new LinkedHashMap<>();
            view.put("principal", principal);
            view.put("operation", each.entry().operation().name());
            view.put("resource", each.pattern().resourceType().name());
            view.put("name", each.pattern().name());
            view.put("pattern", each.pattern().patternType().name());
            view.put("permission", each.entry().permissionType().name());
            views.add(view);
        }
        return views;
    }
}
