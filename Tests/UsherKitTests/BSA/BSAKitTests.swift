import Testing
import UsherTestKit

/// The BSA configuration is global to the process, so these tests run one at a time.
@Suite("BSA calls of UsherKit", .uses(.bsa), .serialized, .timeLimit(.minutes(10)))
enum BSAKitTests {}
