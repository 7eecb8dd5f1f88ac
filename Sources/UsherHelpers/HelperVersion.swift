/// The version of usher-helper, which is that of usherd.
package enum HelperVersion {
  package static let current = "0.1.1"
}
