import Testing

/// What is configured is one for the whole process: one test at a time.
@Suite("BSA", .serialized, .timeLimit(.minutes(1)))
enum BSAKitTests {}
