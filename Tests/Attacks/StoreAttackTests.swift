import Testing
import UsherTestKit

@Suite("attacks on the state directory", .mayBlock, .ownProcess, .timeLimit(.minutes(10)))
struct StoreAttackTests {
  @Test("changed rows and foreign triggers neither unlock a daemon nor undo what was revoked")
  func rows() throws {
    try AttackScript("stored_rows.py").expectRefused(BuiltProduct.path("usherd"))
  }
}
