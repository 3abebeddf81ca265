package kipviz.recorder;

import java.util.List;
import java.util.stream.Stream;

/** The scenarios that there are, each with the source in which it stands. */
final class Scenarios {

    private Scenarios() {
    }

    /** A scenario and the name of the class that has it. */
    record Listed(String source, Scenario scenario) {
    }

    static List<Listed> all() {
        return Stream.of(
                of("TransactionScenarios", TransactionScenarios.all()),
                of("ShareScenarios", ShareScenarios.all()),
                of("ShareModeScenarios", ShareModeScenarios.all()),
                of("VersionScenarios", VersionScenarios.all()),
                of("GroupScenarios", GroupScenarios.all()),
                of("OperatorScenarios", OperatorScenarios.all()),
                of("OldClientScenarios", OldClientScenarios.all()),
                of("ClassicScenarios", ClassicScenarios.all()),
                of("ReaderScenarios", ReaderScenarios.all()),
                of("SharePartitionScenarios", SharePartitionScenarios.all()),
                of("AnswerScenarios", AnswerScenarios.all()),
                of("AclScenarios", AclScenarios.all()),
                of("SequenceScenarios", SequenceScenarios.all()),
                of("FrontScenarios", FrontScenarios.all()),
                of("StaticScenarios", StaticScenarios.all()),
                of("ClusterScenarios", ClusterScenarios.all()),
                of("ClusterShareScenarios", ClusterShareScenarios.all()),
                of("ClusterBounceScenarios", ClusterBounceScenarios.all()),
                of("ClusterAnswerScenarios", ClusterAnswerScenarios.all()))
            .flatMap(List::stream).toList();
    }

    private static List<Listed> of(String source, List<Scenario> scenarios) {
        return scenarios.stream().map(scenario -> new Listed(source, scenario)).toList();
    }
}
