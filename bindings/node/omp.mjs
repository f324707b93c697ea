import omp from "./omp.cjs";

export const { openBackend, openStorage, SessionStorage, SessionStorageBackend } = omp;
export default omp;
