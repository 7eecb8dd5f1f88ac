import Testing
import UsherTestKit

/// What is configured is one for the whole process: one test at a time.
@Suite("BSA", .uses(.bsa), .serialized, .timeLimit(.minutes(1)))
enum BSAKitTests {}
