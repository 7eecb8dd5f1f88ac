import Testing
import UsherTestKit

@Suite("Attacks on the state directory", .mayBlock, .ownProcess, .timeLimit(.minutes(10)))
struct StoreAttackTests {
  @Test(
    "changed rows and foreign triggers in the database neither unlock usherd nor undo a revocation")
  func rows() throws {
    try AttackScript("stored_rows.py").expectRefused(BuiltProduct.path("usherd"))
  }
}
