package kipviz.recorder;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.kafka.clients.admin.NewPartitionReassignment;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.TopicPartition;

/** Where the partitions of several brokers are, and who leads them: told, and not left to the controller. */
record Layout(Recording recording) {

    static final int BROKERS = 3;
    private static final List<List<Integer>> ALL = List.of(List.of(1, 2, 3), List.of(2, 3, 1), List.of(3, 1, 2));

    static Scenario scenario(String name, String sentence, Body body) {
        return new Scenario(name, sentence, Map.of(), Map.of(), List.of(),
            (home, scenario) -> new Cluster(home, scenario, BROKERS),
            (broker, recording) -> body.run((Cluster) broker, new Layout(recording), recording));
    }

    /** Makes the internal topics where every recording has them, and more: per partition its replicas, leader first. */
    void topics(Map<String, List<List<Integer>>> topics) throws Exception {
        List<NewTopic> wanted = new ArrayList<>();
        for (String internal : List.of("__transaction_state", "__consumer_offsets", "__share_group_state")) {
            wanted.add(topic(internal, ALL).configs(Map.of(
                "cleanup.policy", internal.equals("__share_group_state") ? "delete" : "compact",
                "min.insync.replicas", "2")));
        }
        topics.forEach((name, replicas) -> wanted.add(topic(name, replicas)));
        recording.observer().createTopics(wanted).all().get();
    }

    /** Makes a topic that takes batches only with so many replicas in sync. */
    void needing(int replicasInSync, String name, List<List<Integer>> replicas) throws Exception {
        Map<String, String> settings = Map.of("min.insync.replicas", Integer.toString(replicasInSync));
        Map<String, Object> arguments = new LinkedHashMap<>(settings);
        arguments.put("topic", name);
        recording.call("admin", "createTopics", arguments,
            () -> recording.observer().createTopics(List.of(topic(name, replicas).configs(settings))).all().get());
    }

    private static NewTopic topic(String name, List<List<Integer>> replicas) {
        Map<Integer, List<Integer>> placed = new HashMap<>();
        for (int i = 0; i < replicas.size(); i++) {
            placed.put(i, replicas.get(i));
        }
        return new NewTopic(name, placed);
    }

    /** Makes the first of the replicas the leader. */
    void lead(TopicPartition partition, List<Integer> replicas) throws Exception {
        Map<String, Object> arguments = new LinkedHashMap<>();
        arguments.put("partition", partition.toString());
        arguments.put("replicas", replicas);
        recording.call("admin", "electLeaders", arguments, () -> {
            recording.observer().alterPartitionReassignments(
                Map.of(partition, Optional.of(new NewPartitionReassignment(replicas)))).all().get();
            recording.observer().electLeaders(ElectionType.PREFERRED, Set.of(partition)).all().get();
        });
    }

    void stop(Cluster cluster, int broker) throws Exception {
        recording.call("cluster", "stopBroker", Map.of("broker", broker), () -> cluster.stop(broker));
    }

    void start(Cluster cluster, int broker) throws Exception {
        recording.call("cluster", "startBroker", Map.of("broker", broker), () -> cluster.start(broker));
    }

    interface Body {
        void run(Cluster cluster, Layout layout, Recording recording) throws Exception;
    }
}
