import omp from "./omp.cjs";

export const { openStorage, SessionStorageBackend } = omp;
export default omp;
