import GRDB
package import UsherCore

extension Store {
  /// Decrypts the rows of all tables, for `usherd --check-store`: a start of the daemon decrypts
  /// few rows. The audit log and the note with its head are left out, because the log has its own
  /// check. Blocks.
  ///
  /// - Throws: `storage_unavailable` with the name of the first row that does not decrypt.
  package func check() throws(UsherError) {
    _ = try loadFlows()
    _ = try loadCredentials()
    _ = try loadLocalAuth()
    _ = try loadConfirmations()
    _ = try loadOwners()
    _ = try loadNotes(where: "name <> ?", [AuditHead.name])
    var last: SealedAccount?
    repeat {
      let page = try accounts(.all, after: last, atMost: 256)
      for account in page { _ = try open(account) }
      last = page.last
    } while last != nil
  }
}
